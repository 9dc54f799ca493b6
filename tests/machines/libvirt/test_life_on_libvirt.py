"""A person's day with a virtual machine: plan, apply, ssh, stop with a saved home, start, the file is there, destroy."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest
from support.libvirt_host import virsh
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


def test_a_home_grows_under_the_machine_that_uses_it(project: LibvirtProject) -> None:
    project.apply()
    (name,) = project.domains()
    project.done("ssh", "lab", "--", "echo kept > note; sync")
    uuid, booted = virsh("domuuid", name), project.done("ssh", "lab", "--", "cat /proc/sys/kernel/random/boot_id")
    project.change("size: 1Gi", "size: 2Gi")
    project.apply()
    (disk,) = project.files("disks/*/live.qcow2")
    # The machine looks once a minute whether its home has grown.
    blocks = "for tries in $(seq 120); do [ $(df -k . | tail -n 1 | awk '{ print $2 }') -lt 1800000 ] || break; sleep 1; done; df -k ."
    assert project.done("ssh", "lab", "--", "cat /sys/block/vdb/size").split() == [str(2 * 2**30 // 512)]
    assert int(project.done("ssh", "lab", "--", blocks).splitlines()[-1].split()[1]) > 1800000, "its file system too"
    assert project.files("disks/*/live.qcow2") == [disk], "the same file"
    assert (virsh("domuuid", name), project.done("ssh", "lab", "--", "cat /proc/sys/kernel/random/boot_id")) == (uuid, booted)
    assert project.done("ssh", "lab", "--", "cat note").strip() == "kept"
    assert "No changes" in project.done("plan")


def test_a_domain_edited_undefined_stopped_or_removed_by_hand_is_drift(project: LibvirtProject) -> None:
    project.apply()
    assert project.run("drift").returncode == 0
    (name,) = project.domains()

    virsh("setvcpus", name, "3", "--config", "--maximum")
    assert drift(project) == [("ShapeChanged", True)]
    assert "vcpu is 3 and was 1 when the machine was made" in project.run("drift").stdout
    planned = project.run("plan", "--detailed-exitcode")
    assert (planned.returncode, "machine.vcpu" in planned.stdout) == (2, True), "a plan would put the hardware back"
    virsh("setvcpus", name, "1", "--config", "--maximum")
    assert project.run("drift").returncode == 0, "put back, it is as it was made"

    virsh("undefine", name)
    assert drift(project) == [("ShapeChanged", True)]
    assert "removed" in project.run("drift").stdout
    virsh("destroy", name)
    assert drift(project) in ([("MachineGone", True)], [("MachineEnded", True)])


def test_a_domain_stopped_by_hand_is_drift(project: LibvirtProject) -> None:
    project.apply()
    (name,) = project.domains()
    virsh("destroy", name)
    assert drift(project) == [("MachineEnded", True)]


def test_a_domain_that_somebody_starts_once_its_session_is_over_is_drift(project: LibvirtProject) -> None:
    project.apply()
    (name,) = project.domains()
    root = ET.fromstring(virsh("dumpxml", "--inactive", name))
    project.done("stop", "lab")
    devices = root.find("devices")
    assert devices is not None
    for one in [*devices.findall("disk"), *devices.findall("serial"), *devices.findall("console")]:
        devices.remove(one)  # their files went with the machine
    saved = project.folder / "saved.xml"
    saved.write_text(ET.tostring(root, encoding="unicode"))
    virsh("create", str(saved), "--paused")
    try:
        assert virsh("domstate", name) == "paused"
        assert sorted(drift(project)) == [("DiskElsewhere", False), ("RunningThoughStopped", True)], "by its record it has the home too"
    finally:
        virsh("destroy", name)
    assert project.run("drift").returncode == 0


def drift(project: LibvirtProject) -> list[tuple[str, bool]]:
    """The kind of each difference, and whether it is told of the Workspace; the exit code is that of drift."""
    told = project.run("drift", "--json")
    assert told.returncode == 3, told.stdout + told.stderr
    (result,) = (one for line in told.stdout.splitlines() if (one := json.loads(line))["type"] == "result")
    return [(one["kind"], one["address"] == "workspace/lab") for one in result["drift"]]
