"""QEMU killed under a machine: what was proved dead is replaced or said, the home is kept, and there is never a second machine."""

from __future__ import annotations

import pytest
from support.faulty_project import QEMU, FaultyProject
from support.libvirt_project import LAB

pytestmark = [pytest.mark.slow, pytest.mark.libvirt]


def ticked_until(project: FaultyProject, phase: str) -> None:
    """Passes as cron makes them, until the Workspace is in a phase."""

    def is_there() -> bool:
        project.done("tick")
        return project.status()["phase"] == phase

    project.host.eventually(is_there, f"it is {phase}", limit_seconds=150)


def test_a_running_machine_whose_qemu_dies_goes_on_in_another_with_its_home(faulty: FaultyProject) -> None:
    faulty.apply()
    faulty.write_note("kept")
    before, host_key = faulty.the_one(), faulty.status()["connect"]["ssh"]["hostKey"]  # type: ignore[index]
    faulty.host.run("kill", "-9", str(faulty.host.qemu(before)))
    seen = faulty.run("drift")
    assert (seen.returncode, "MachineEnded" in seen.stdout, "QEMU failed or crashed" in seen.stdout) == (3, True, True), seen.stdout
    assert "recover its session on another machine" in faulty.done("plan")
    faulty.done("tick")
    assert faulty.status()["phase"] == "Recovering"
    ticked_until(faulty, "Running")
    assert faulty.the_one() != before
    assert len(faulty.files("machines/*")) == len(faulty.files("disks/*")) == 1
    assert faulty.note() == "kept"
    assert faulty.status()["connect"]["ssh"]["hostKey"] == host_key  # type: ignore[index]
    assert "No changes" in faulty.done("plan")


def test_an_ephemeral_machine_whose_qemu_dies_is_stopped_as_interrupted(faulty: FaultyProject) -> None:
    text = LAB.partition("---")[0].replace("volume: lab-home", "ephemeral: true")
    (faulty.project / "lab.yaml").write_text(text, encoding="utf-8")
    faulty.apply()
    faulty.host.run("kill", "-9", str(faulty.host.qemu(faulty.the_one())))
    ticked_until(faulty, "Stopped")
    assert faulty.status()["stopReason"] == "Interrupted"
    assert (faulty.domains(), faulty.host.qemus(), faulty.files("machines/*")) == ({}, 0, [])


def test_a_machine_whose_qemu_dies_while_it_starts_is_given_up_cleanly_and_the_next_start_works(faulty: FaultyProject) -> None:
    lost = faulty.breaking("start", "after", "apply", "--yes", "--local-state", victims=QEMU)
    assert lost.returncode == 1, lost.stdout + lost.stderr
    assert "MachineLost" in lost.stdout and "nodusctl start lab" in lost.stderr, lost.stdout + lost.stderr
    assert faulty.status()["phase"] == "Failed"
    assert (faulty.domains(), faulty.host.qemus(), faulty.files("machines/*")) == ({}, 0, [])
    faulty.done("start", "lab")
    faulty.the_one()
    assert len(faulty.files("disks/*")) == 1
    assert "No changes" in faulty.done("plan")


def test_a_machine_whose_qemu_dies_while_it_is_stopped_is_stopped_with_its_home_saved(faulty: FaultyProject) -> None:
    faulty.apply()
    faulty.write_note("kept")
    ended = faulty.breaking("shut_down", "before", "stop", "lab", victims=QEMU)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (faulty.domains(), faulty.host.qemus(), faulty.files("machines/*")) == ({}, 0, [])
    assert [path.rpartition("/")[2] for path in faulty.files("disks/*/revisions/*.qcow2")] == ["1.qcow2"]
    faulty.done("start", "lab")
    assert faulty.note() == "kept"
