"""Drift of one object: how what its provider reports differs from what its record's phase and edges imply. Pure; never looks at a file.

A machine that ended at its own edge, or that a stop under way is ending, is *due*: the next pass acts on it, and nobody interfered. What
can't be read is said to be unreadable and never counts as gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.ids import Address
from nodusctl.base.quantities import shown_bytes
from nodusctl.base.timestamps import format_time
from nodusctl.lifecycle.vanishing import ENDED, reason_of_end
from nodusctl.provider.machines import Disk, DiskState, Machine, MachineState
from nodusctl.state.status import Phase, StopReason, VolumeStanding

_EDGE_SLACK = timedelta(minutes=1)
_SIZE_SLACK = 2**20
"""Platforms round sizes, and some count their own bookkeeping; less than a MiB is no change."""
_WANTS_MACHINE = frozenset({Phase.STARTING, Phase.RUNNING})
_TAGS = ("nodus-state", "nodus-project", "nodus-uid", "nodus-address", "nodus-attempt", "nodus-owner")


class DriftKind(StrEnum):
    """What can differ."""

    MACHINE_GONE = "MachineGone"
    MACHINE_ENDED = "MachineEnded"
    RUNNING_THOUGH_STOPPED = "RunningThoughStopped"
    DUPLICATE = "Duplicate"
    SHAPE_CHANGED = "ShapeChanged"
    EDGE_NOT_AS_ARMED = "EdgeNotAsArmed"
    TAGS_MISSING = "TagsMissing"
    DISK_GONE = "DiskGone"
    DISK_FAILED = "DiskFailed"
    DISK_DETACHED = "DiskDetached"
    DISK_ELSEWHERE = "DiskElsewhere"
    DISK_SIZE_CHANGED = "DiskSizeChanged"
    UNREADABLE = "Unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that isn't as recorded. ``what`` names the property where there is one (``memory``); both values are for people."""

    kind: DriftKind
    address: Address
    provider: str
    thing: str
    message: str
    what: str = ""
    expected: str = ""
    found: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """Nothing to worry about: what the next pass does anyway."""

    address: Address
    thing: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One report at one moment. ``accepted`` is the machine as it was made; ``is_doubted`` where its whole instance looks empty at once."""

    provider: str
    now: datetime
    list_lag_bound: timedelta
    last_seen_at: datetime | None = None
    accepted: Machine | None = None
    is_doubted: bool = False


def machine_differences(address: Address, phase: Phase, attempt: Attempt, machine: Machine, sight: Sight) -> Iterator[Difference | Due]:
    """Of the machine of an open Attempt."""
    if machine.state is MachineState.UNREADABLE:
        why = machine.reason_detail or machine.reason or "refused"
        yield _difference(DriftKind.UNREADABLE, address, machine.id, sight, f"machine can't be read ({why})")
    elif phase not in _WANTS_MACHINE:
        if machine.state in {MachineState.PENDING, MachineState.RUNNING}:
            yield Due(address=address, thing=machine.id, message=f"it is {phase}, and its machine is being given back")
    elif machine.state is MachineState.GONE:
        yield _absent(address, attempt, machine, sight)
    elif machine.state in ENDED:
        yield _ended(address, attempt, machine, sight)
    else:
        yield from _living(address, attempt, machine, sight)


def _absent(address: Address, attempt: Attempt, machine: Machine, sight: Sight) -> Difference | Due:
    acquired_at = attempt.timings.acquired_at or sight.now
    if acquired_at + sight.list_lag_bound > sight.now:
        return Due(address=address, thing=machine.id, message="its machine was just made and is not to be seen yet")
    if sight.is_doubted:
        many = "so many machines vanished at once that none counts as gone until the provider says so"
        return _difference(DriftKind.UNREADABLE, address, machine.id, sight, many)
    seen = f" (last seen {format_time(sight.last_seen_at.replace(microsecond=0))})" if sight.last_seen_at is not None else ""
    return _difference(DriftKind.MACHINE_GONE, address, machine.id, sight, f"machine gone{seen}", expected="running", found="gone")


def _ended(address: Address, attempt: Attempt, machine: Machine, sight: Sight) -> Difference | Due:
    reason = reason_of_end(attempt, machine, sight.now)
    at = f" at {format_time(machine.ended_at.replace(microsecond=0))}" if machine.ended_at is not None else ""
    if reason is not StopReason.INTERRUPTED:
        return Due(address=address, thing=machine.id, message=f"its machine ended itself{at} ({reason}); the next pass closes the session")
    why = f", {machine.reason}" if machine.reason else ""
    evidence = f" ({machine.reason_detail})" if machine.reason_detail else ""
    message = f"machine {machine.state}{at}{why}{evidence}, although its session should run"
    return _difference(DriftKind.MACHINE_ENDED, address, machine.id, sight, message, expected="running", found=str(machine.state))


def _living(address: Address, attempt: Attempt, machine: Machine, sight: Sight) -> Iterator[Difference]:
    for what, expected, found in shape_changes(sight.accepted, machine):
        message = f"{what} is {found} and was {expected} when the machine was made"
        yield _difference(DriftKind.SHAPE_CHANGED, address, machine.id, sight, message, what=what, expected=expected, found=found)
    yield from _edge(address, attempt, machine, sight)
    missing = [name for name in _TAGS if name not in machine.tags]
    if missing:
        message = f"tags are missing: {', '.join(missing)}"
        yield _difference(DriftKind.TAGS_MISSING, address, machine.id, sight, message, what="tags", expected=", ".join(_TAGS))


def shape_changes(accepted: Machine | None, machine: Machine) -> tuple[tuple[str, str, str], ...]:
    """Hardware that is another than the machine was made with: name, before, now. What either report doesn't say isn't compared.

    What the platform itself found to be edited comes with it; that needs no report of before.
    """
    if accepted is None:
        return machine.edits
    pairs = (
        ("type", accepted.instance_type, machine.instance_type),
        ("cpu", _cores(accepted.vcpu_milli), _cores(machine.vcpu_milli)),
        ("memory", _bytes(accepted.memory_bytes), _bytes(machine.memory_bytes)),
    )
    return (*((what, before, now) for what, before, now in pairs if before and now and before != now), *machine.edits)


def _edge(address: Address, attempt: Attempt, machine: Machine, sight: Sight) -> Iterator[Difference]:
    """A platform that never told the edge has nothing to compare."""
    if sight.accepted is None or sight.accepted.armed_until is None or attempt.edge_at is None:
        return
    expected = format_time(attempt.edge_at.replace(microsecond=0))
    if machine.armed_until is None:
        yield _difference(
            DriftKind.EDGE_NOT_AS_ARMED, address, machine.id, sight, "nothing ends the machine any more", expected=expected, found="none"
        )
    elif abs(machine.armed_until - attempt.edge_at) > _EDGE_SLACK:
        found = format_time(machine.armed_until.replace(microsecond=0))
        message = f"it ends itself at {found}, and {expected} was armed"
        yield _difference(DriftKind.EDGE_NOT_AS_ARMED, address, machine.id, sight, message, expected=expected, found=found)


def disk_differences(address: Address, standing: VolumeStanding, disk: Disk, wanted_at: str, sight: Sight) -> Iterator[Difference]:
    """Of a Volume's disk; ``wanted_at`` is the running machine it should hang at, empty where none."""
    match disk.state:
        case DiskState.UNREADABLE:
            yield _difference(DriftKind.UNREADABLE, address, disk.id, sight, "disk can't be read")
            return
        case DiskState.GONE:
            yield _difference(DriftKind.DISK_GONE, address, disk.id, sight, "disk gone", expected="ready", found="gone")
            return
        case DiskState.FAILED:
            yield _difference(DriftKind.DISK_FAILED, address, disk.id, sight, "disk failed", expected="ready", found="failed")
        case DiskState.READY | DiskState.PENDING:
            pass
    if wanted_at and not disk.attached_to:
        message = f"disk hangs nowhere, and should at {wanted_at}"
        yield _difference(DriftKind.DISK_DETACHED, address, disk.id, sight, message, expected=wanted_at)
    elif disk.attached_to and disk.attached_to != wanted_at:
        message = f"disk is attached to {disk.attached_to}" + (f", not to {wanted_at}" if wanted_at else ", and should hang nowhere")
        yield _difference(DriftKind.DISK_ELSEWHERE, address, disk.id, sight, message, expected=wanted_at, found=disk.attached_to)
    if abs(disk.size_bytes - standing.size_bytes) >= _SIZE_SLACK:
        expected, found = shown_bytes(standing.size_bytes), shown_bytes(disk.size_bytes)
        message = f"size is {found} and was {expected}"
        yield _difference(DriftKind.DISK_SIZE_CHANGED, address, disk.id, sight, message, what="size", expected=expected, found=found)


def stray_difference(address: Address, machine: Machine, current: str, sight: Sight) -> Difference:
    """A living machine tagged as this object's that isn't its current one (``current``, empty where it should have none)."""
    if current:
        message = f"a second machine lives beside {current}"
        return _difference(DriftKind.DUPLICATE, address, machine.id, sight, message, expected=current, found=machine.id)
    message = "machine lives, and the record has none"
    return _difference(DriftKind.RUNNING_THOUGH_STOPPED, address, machine.id, sight, message, found=str(machine.state))


def _difference(
    kind: DriftKind, address: Address, thing: str, sight: Sight, message: str, *, what: str = "", expected: str = "", found: str = ""
) -> Difference:
    return Difference(
        kind=kind, address=address, provider=sight.provider, thing=thing, message=message, what=what, expected=expected, found=found
    )


def _cores(milli: int | None) -> str:
    return "" if milli is None else str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def _bytes(count: int | None) -> str:
    return "" if count is None else shown_bytes(count)
