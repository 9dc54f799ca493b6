"""What a killed run of the conformance suite left at a platform is told from everything else there."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.libvirt_leftovers import is_over

from nodus_providers.libvirt.records import MachineRecord
from nodusctl.provider.tokens import Ownership
from nodusctl.testing.runs import OLD, PROJECT, Run, is_left_over

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
PRINT_A_UID = "from nodusctl.testing.runs import Run; print(Run.new().uid('lab'))"


def tags(uid: str, project: str = PROJECT) -> dict[str, str]:
    made = Ownership(state_id="s", project=project, object_uid="o", address="workspace/lab", attempt_uid=uid, owner="somebody")
    return dict(made.tags())


@pytest.fixture(scope="module")
def of_a_dead_process() -> str:
    return subprocess.run([sys.executable, "-c", PRINT_A_UID], capture_output=True, text=True, check=True).stdout.strip()


def test_two_runs_share_no_name_and_no_lineage() -> None:
    one, other = Run.new(), Run.new()
    assert one.state_id != other.state_id
    assert one.uid("lab")[:8] != other.uid("lab")[:8], "a machine's name carries these"
    assert one.made(tags(one.uid("lab"))) and not other.made(tags(one.uid("lab")))


def test_a_thing_of_a_run_that_goes_on_is_left_alone_however_old() -> None:
    assert not is_left_over(tags(Run.new().uid("lab")), NOW - 9 * OLD, NOW)


def test_a_thing_of_a_dead_process_is_left_over_at_once(of_a_dead_process: str) -> None:
    assert is_left_over(tags(of_a_dead_process), NOW, NOW)
    assert not is_left_over(tags(of_a_dead_process, project="lab"), NOW, NOW), "a project of that name may be anybody's"


def test_a_pid_that_is_used_again_is_another_process() -> None:
    run, pid, ticks, *rest = Run.new().uid("lab").split("-")
    assert is_left_over(tags("-".join((run, pid, str(int(ticks) - 1), *rest))), NOW, NOW)


def test_what_another_computer_made_is_left_over_only_once_it_is_old(of_a_dead_process: str) -> None:
    run, pid, ticks, origin, name = of_a_dead_process.split("-")
    elsewhere = tags("-".join((run, pid, ticks, "0" * 8 if origin != "0" * 8 else "1" * 8, name)))
    assert not is_left_over(elsewhere, NOW - OLD, NOW)
    assert is_left_over(elsewhere, NOW - OLD - timedelta(seconds=1), NOW)
    assert not is_left_over(elsewhere, None, NOW)


@pytest.mark.parametrize("given", [{}, {"nodus-state": "x"}, tags("attempt-lab"), tags("1f0c2b3a-5d6e-4f70-8a9b-0c1d2e3f4a5b")])
def test_what_says_nothing_of_a_run_is_nobodys_leftover(given: dict[str, str]) -> None:
    assert not is_left_over(given, NOW - 9 * OLD, NOW)


def a_record() -> MachineRecord:
    return MachineRecord(
        id="m-00000000-000000000000",
        token="t",
        digest="d",
        name="nodus-lab-1",
        offer_id="o",
        image="i",
        tags=tags("1f0c2b3a-5d6e-4f70-8a9b-0c1d2e3f4a5b", project="lab"),
        created_at="2026-03-02T08:00:00Z",
        edge_seconds=60,
    )


def test_a_domain_whose_files_are_in_the_folder_of_a_pytest_is_left_over_once_that_has_ended(tmp_path: Path) -> None:
    run = tmp_path / "pytest-of-ada" / "pytest-7"
    run.mkdir(parents=True)
    machine = run / "test_0" / "host" / "machines" / "m-1"
    (run / ".lock").write_text(str(os.getpid()))
    assert not is_over(a_record(), machine, NOW)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (run / ".lock").write_text(str(ended.pid))
    assert is_over(a_record(), machine, NOW)
    (run / ".lock").unlink()
    assert is_over(a_record(), machine, NOW)
    for elsewhere in (None, Path("/var/lib/libvirt/images/nodus/machines/m-1"), tmp_path / "pytest-of-ada" / "notes" / "m-1"):
        assert not is_over(a_record(), elsewhere, NOW)
