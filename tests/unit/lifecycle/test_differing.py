"""Drift of one object, report by report: what counts, what is merely due, and what isn't compared at all."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support.situations import LAB, NOW, launched, machine, standing

from nodusctl.lifecycle.differing import Difference, DriftKind, Due, Sight, disk_differences, machine_differences
from nodusctl.provider.machines import Disk, DiskState, MachineState
from nodusctl.state.status import Phase

TAGS = {f"nodus-{name}": "x" for name in ("state", "project", "uid", "address", "attempt", "owner")}
LATER = NOW + timedelta(hours=1)


def sight(**changes: Any) -> Sight:
    return replace(Sight(provider="sim", now=LATER, list_lag_bound=timedelta(seconds=120), accepted=machine()), **changes)


def seen(phase: Phase = Phase.RUNNING, at: Sight | None = None, **changes: Any) -> list[Difference | Due]:
    report = machine(**{"tags": TAGS, **changes})
    return list(machine_differences(LAB, phase, launched(ready=True), report, at or sight()))


def kinds(found: list[Difference | Due]) -> list[str]:
    return [str(one.kind) if isinstance(one, Difference) else "Due" for one in found]


def test_a_machine_as_recorded_is_no_difference() -> None:
    assert seen() == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"state": MachineState.UNREADABLE}, "Unreadable"),
        ({"state": MachineState.GONE}, "MachineGone"),
        ({"state": MachineState.STOPPED, "ended_at": NOW + timedelta(minutes=5)}, "MachineEnded"),
        ({"state": MachineState.STOPPED, "reason": "EdgePassed", "ended_at": NOW + timedelta(minutes=5)}, "Due"),
        ({"state": MachineState.STOPPED, "reason": "Idle", "ended_at": NOW + timedelta(minutes=5)}, "Due"),
        ({"armed_until": None}, "EdgeNotAsArmed"),
        ({"armed_until": NOW + timedelta(hours=20)}, "EdgeNotAsArmed"),
        ({"tags": {}}, "TagsMissing"),
    ],
)
def test_what_a_report_of_a_running_session_s_machine_counts_as(changes: dict[str, Any], expected: str) -> None:
    assert kinds(seen(**changes)) == [expected]


@pytest.mark.parametrize("phase", [Phase.STOPPING, Phase.TERMINATING, Phase.RECOVERING])
def test_while_a_machine_is_given_back_its_life_is_due_and_its_end_is_nothing(phase: Phase) -> None:
    assert kinds(seen(phase)) == ["Due"]
    assert seen(phase, state=MachineState.GONE) == []


def test_an_absence_inside_the_list_lag_and_one_that_is_doubted_are_never_gone() -> None:
    young = sight(now=NOW + timedelta(seconds=60))
    assert kinds(seen(at=young, state=MachineState.GONE)) == ["Due"]
    assert kinds(seen(at=sight(is_doubted=True), state=MachineState.GONE)) == ["Unreadable"]


def test_what_a_platform_never_told_is_not_compared() -> None:
    silent = sight(accepted=machine(armed_until=None))
    assert seen(at=silent, armed_until=None, memory_bytes=2**35, instance_type="big") == []
    assert seen(at=sight(accepted=None), memory_bytes=2**35) == []


def test_hardware_is_compared_with_the_machine_as_it_was_made() -> None:
    made = sight(accepted=machine(memory_bytes=2**34, vcpu_milli=4000))
    (one,) = seen(at=made, memory_bytes=2**35, vcpu_milli=4000)
    assert isinstance(one, Difference)
    assert (one.kind, one.what, one.expected, one.found) == (DriftKind.SHAPE_CHANGED, "memory", "16Gi", "32Gi")


def disk(wanted_at: str = "", **changes: Any) -> list[str]:
    report = replace(Disk(id="d-1", state=DiskState.READY, size_bytes=2**30), **changes)
    return [str(one.kind) for one in disk_differences(LAB, standing(), report, wanted_at, sight())]


@pytest.mark.parametrize(
    ("wanted_at", "changes", "expected"),
    [
        ("", {}, []),
        ("i-1", {"attached_to": "i-1"}, []),
        ("i-1", {}, ["DiskDetached"]),
        ("i-1", {"attached_to": "i-2"}, ["DiskElsewhere"]),
        ("", {"attached_to": "i-2"}, ["DiskElsewhere"]),
        ("", {"size_bytes": 2**30 + 768}, []),
        ("", {"size_bytes": 2**31}, ["DiskSizeChanged"]),
        ("", {"state": DiskState.GONE}, ["DiskGone"]),
        ("", {"state": DiskState.UNREADABLE}, ["Unreadable"]),
    ],
)
def test_what_a_report_of_a_home_s_disk_counts_as(wanted_at: str, changes: dict[str, Any], expected: list[str]) -> None:
    assert disk(wanted_at, **changes) == expected


def test_what_a_platform_found_to_be_edited_is_a_changed_shape_even_without_a_report_of_before() -> None:
    edits = (("memory", "4194304 KiB", "2097152 KiB"),)
    for accepted in (machine(), None):
        (found,) = seen(at=sight(accepted=accepted), edits=edits)
        assert isinstance(found, Difference) and found.kind is DriftKind.SHAPE_CHANGED
        assert (found.what, found.expected, found.found) == edits[0]
