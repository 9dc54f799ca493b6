"""A person's day with a virtual machine: plan, apply, ssh, stop with a saved home, start, the file is there, destroy."""

from __future__ import annotations

import json

import pytest
from support.libvirt_project import LibvirtProject

pytestmark = [pytest.mark.slow, pytest.mark.libvirt]


def test_a_file_written_over_ssh_is_there_after_stop_and_start(project: LibvirtProject) -> None:
    assert "2 to create" in project.done("plan")
    assert project.domains() == {}, "a plan makes nothing"

    project.apply()
    (name, state), *others = project.domains().items()
    assert (name.startswith("nodus-lab-"), state, others) == (True, "running", [])
    for _ in range(3):
        assert "No changes" in project.done("plan"), "a plan after apply is empty"

    assert project.done("ssh", "lab", "--", "id -un; pwd; echo kept > note; sync").split() == ["nodus", "/home/nodus"]
    first_key = project.status()["connect"]["ssh"]["hostKey"]  # type: ignore[index]

    project.done("stop", "lab")
    assert project.domains() == {}, "a machine that was stopped is gone, definition and all"
    assert project.files("machines/*") == []
    assert [path.rpartition("/")[2] for path in project.files("disks/*/revisions/*.qcow2")] == ["1.qcow2"]

    project.done("start", "lab")
    assert project.done("ssh", "lab", "--", "cat note").strip() == "kept"
    assert project.status()["connect"]["ssh"]["hostKey"] == first_key, "the pinned key is the same in every session"  # type: ignore[index]

    project.done("destroy", "--yes")
    assert project.domains() == {}
    assert project.files("machines/*") == []


def test_a_domain_edited_started_or_removed_by_hand_is_told(project: LibvirtProject) -> None:
    from support.libvirt_host import virsh

    project.apply()
    (name,) = project.domains()
    virsh("destroy", name)
    virsh("undefine", name)
    told = project.run("drift", "--json")
    assert told.returncode == 3, told.stdout + told.stderr
    assert "lab" in json.dumps([json.loads(line) for line in told.stdout.splitlines()])
