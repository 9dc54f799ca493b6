"""libvirtd killed at any moment: machines live on, commands end in time and say why, the next one goes on, and nothing is made twice."""

from __future__ import annotations

import pytest
from support.faulty_project import FaultyProject

pytestmark = [pytest.mark.slow, pytest.mark.libvirt]
LIMIT_SECONDS = 150
"""Thirty for each call; nothing may wait without end."""


@pytest.mark.parametrize(
    ("method", "when", "left"),
    [
        pytest.param("define", "before", set(), id="before the definition"),
        pytest.param("define", "after", {"shut off"}, id="after the definition"),
        pytest.param("start", "during", {"shut off", "running"}, id="during the start"),
        pytest.param("start", "after", {"running"}, id="after the start"),
    ],
)
def test_an_apply_whose_daemon_is_killed_says_so_and_the_next_goes_on(
    faulty: FaultyProject, method: str, when: str, left: set[str]
) -> None:
    cut = faulty.breaking(method, when, "apply", "--yes", "--local-state")
    assert cut.returncode == 14, cut.stdout + cut.stderr
    assert "IntentUnsettled: nobody could say whether the launch happened" in cut.stdout, cut.stdout
    assert "libvirt-sock" in cut.stderr and "fix: " in cut.stderr, "the reason and what to do"
    blocked = faulty.run("apply", "--yes", "--local-state")
    assert blocked.returncode == 10, blocked.stdout + blocked.stderr
    assert "blocked[ProviderNotReady] workspace/lab" in blocked.stdout
    faulty.host.start()
    assert set(faulty.domains().values()) <= left
    uuids = [faulty.host.virsh("domuuid", name) for name in faulty.domains()]
    faulty.apply()
    name = faulty.the_one()
    assert not uuids or [faulty.host.virsh("domuuid", name)] == uuids, "adopted, not made anew"
    assert len(faulty.files("machines/*")) == len(faulty.files("disks/*")) == 1
    assert "No changes" in faulty.done("plan")
    assert faulty.done("ssh", "lab", "--", "echo in").strip() == "in"


@pytest.mark.parametrize(
    ("method", "when"),
    [
        pytest.param("shut_down", "before", id="before the guest is asked"),
        pytest.param("destroy", "before", id="before the plug is pulled"),
        pytest.param("undefine", "after", id="after the definition is gone"),
    ],
)
def test_a_stop_whose_daemon_is_killed_is_never_called_stopped_and_the_next_goes_on(faulty: FaultyProject, method: str, when: str) -> None:
    faulty.apply()
    faulty.write_note("kept")
    cut = faulty.breaking(method, when, "stop", "lab")
    if method == "undefine":  # nothing that comes after needs the daemon, until the next look
        assert cut.returncode in (0, 14), cut.stdout + cut.stderr
    else:
        assert cut.returncode == 14, cut.stdout + cut.stderr
        assert "IntentUnsettled: nobody could say whether the release happened" in cut.stdout, cut.stdout
        assert faulty.status()["phase"] == "Stopping", "what isn't confirmed is not Stopped"
    faulty.host.start()
    faulty.done("stop", "lab")
    assert faulty.status()["phase"] == "Stopped"
    assert (faulty.domains(), faulty.host.qemus(), faulty.files("machines/*")) == ({}, 0, [])
    assert [path.rpartition("/")[2] for path in faulty.files("disks/*/revisions/*.qcow2")] == ["1.qcow2"]
    faulty.done("start", "lab")
    assert faulty.note() == "kept"


def test_a_machine_lives_on_without_its_daemon_and_nothing_about_it_is_concluded(faulty: FaultyProject) -> None:
    faulty.apply()
    faulty.write_note("kept")
    name = faulty.the_one()
    uuid, qemu = faulty.host.virsh("domuuid", name), faulty.host.qemu(name)
    faulty.host.kill()
    assert faulty.host.qemus() == 1
    assert faulty.note() == "kept", "who works in it notices nothing"
    planned = faulty.run("plan")
    assert (planned.returncode, "blocked[ProviderNotReady] workspace/lab" in planned.stdout) == (10, True), planned.stdout
    passed = faulty.run("tick")
    assert passed.returncode == 1
    assert "error[ProviderNotReady]" in passed.stderr and "libvirt-sock" in passed.stderr, passed.stderr
    seen = faulty.run("drift")
    assert (seen.returncode, "MachineGone" in seen.stdout) == (1, False), "unreadable is not gone"
    assert faulty.status()["phase"] == "Running"
    faulty.host.start()
    assert (faulty.the_one(), faulty.host.virsh("domuuid", name), faulty.host.qemu(name)) == (name, uuid, qemu)
    faulty.done("tick")
    for _ in range(3):
        assert "No changes" in faulty.done("plan")
    assert faulty.run("drift").returncode == 0
    assert len(faulty.files("machines/*")) == 1


def test_a_daemon_that_hangs_costs_each_command_its_limit_and_loses_nothing(faulty: FaultyProject) -> None:
    """It takes every connection and answers none."""
    faulty.apply()
    name = faulty.the_one()
    faulty.host.run("kill", "-STOP", str(faulty.host.daemon))
    try:
        seen = faulty.run("drift", limit_seconds=LIMIT_SECONDS)
        assert (seen.returncode, "MachineGone" in seen.stdout) == (1, False), seen.stdout + seen.stderr
        passed = faulty.run("tick", limit_seconds=LIMIT_SECONDS)
        assert (passed.returncode, "error[ProviderNotReady]" in passed.stderr) == (1, True), passed.stderr
        told = faulty.run("doctor", "metal", limit_seconds=LIMIT_SECONDS)
        assert "could not ask for the version within 30 s" in " ".join(told.stdout.split()), told.stdout
    finally:
        faulty.host.run("kill", "-CONT", str(faulty.host.daemon))
    assert (faulty.the_one(), faulty.status()["phase"]) == (name, "Running")
    assert "No changes" in faulty.done("plan")
