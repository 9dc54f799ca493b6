"""When a machine is idle, as pure functions: two looks give facts of use, facts give a deadline, a deadline gives warnings.

All times are seconds of the boot clock, so a wall clock that jumps moves nothing. The surprise: CPU time of a process that has ended turns
up in its parent's count of collected children, so what was already seen of it is taken off there.
"""

from __future__ import annotations

from typing import NamedTuple

from .samples import Sample, Terminal, Work

CPU_SHARE = 0.10
GPU_PERCENT = 5
LOOK_SECONDS = 60.0
WARNING_SECONDS = 600.0
_ROUNDING_SECONDS = 0.02
_SAME_SECONDS = 0.5


class Fact(NamedTuple):
    """One piece of evidence: what was used, and when (boot clock)."""

    kind: str
    detail: str
    clock: float


def facts_between(before: Sample, after: Sample, ticks_per_second: int) -> list[Fact]:
    """What speaks for use between two looks, the plainest first; empty for an idle stretch. Without an earlier look, pass an empty one."""
    found = [Fact("process", name, after.clock) for name in after.processes]
    found += _typed(before, after) + _metered(before, after)
    found += _computed(before, after, ticks_per_second)
    return found + [Fact("gpu", f"{name} at {percent} %", after.clock) for name, percent in after.graphics if percent > GPU_PERCENT]


def remaining_seconds(last: float, timeout_seconds: int | None, now: float) -> float | None:
    """Until the idle stop, below 0 once it is due; None where there is none."""
    return None if timeout_seconds is None else last + timeout_seconds - now


def is_over(left: float | None) -> bool:
    """Whether a deadline has come."""
    return left is not None and left <= _ROUNDING_SECONDS


def look_every(timeout_seconds: int | None) -> float:
    """How long at most between two looks: a minute, less for a timeout of few minutes."""
    return LOOK_SECONDS if timeout_seconds is None else min(LOOK_SECONDS, max(1.0, timeout_seconds / 5))


def idle_lead(timeout_seconds: int) -> float:
    """How long before an idle stop a silent terminal is warned: 10 min, but never before half of the timeout is over."""
    return min(WARNING_SECONDS, timeout_seconds / 2)


def next_look(looked: float, idle_left: float | None, timeout_seconds: int | None, edge_left: float, now: float) -> float:
    """When to look next: regularly, at the moment of a warning, and at the deadline itself."""
    due = looked + look_every(timeout_seconds)
    moments = [now + edge_left - WARNING_SECONDS]
    if idle_left is not None and timeout_seconds is not None:
        moments += [now + idle_left - idle_lead(timeout_seconds), now + idle_left]
    return min([due, *(moment for moment in moments if moment > looked + _ROUNDING_SECONDS)])


def unwarned(terminals: tuple[Terminal, ...], warned: dict[str, float], deadline: float) -> list[Terminal]:
    """Terminals with somebody at them that haven't been told of this deadline."""
    return [one for one in terminals if one.is_attached and abs(warned.get(one.name, -1.0) - deadline) > _SAME_SECONDS]


def _typed(before: Sample, after: Sample) -> list[Fact]:
    known = {one.name: one for one in before.terminals}
    found = []
    for one in after.terminals:
        was = known.get(one.name)
        if was is None or (was.read, was.written) != (one.read, one.written):
            ago = after.wall - max(one.read, one.written)
            found.append(Fact("ssh", f"{one.command} on {one.name}", min(after.clock, max(before.clock, after.clock - ago))))
    return found


def _metered(before: Sample, after: Sample) -> list[Fact]:
    known = {one.key: one.total for one in before.meters}
    carried_before = {one.key: one.total for one in before.carried}
    found = []
    for one in after.meters:
        was = known.get(one.key, 0)
        # A counter that went back began again.
        more = one.total - was if one.total >= was else one.total
        more -= sum(part.total - carried_before.get(part.key, 0) for part in after.carried if part.login == one.key)
        if more > one.limit:
            found.append(Fact(one.kind, one.detail, after.clock))
    return found


def _computed(before: Sample, after: Sample, ticks_per_second: int) -> list[Fact]:
    seconds = max(after.clock - before.clock, 0.01)
    used = _ticks_used(before.works, after.works)
    if sum(used.values()) / ticks_per_second <= CPU_SHARE * seconds:
        return []
    most = max(used, key=lambda key: used[key])
    return [Fact("cpu", next(one.command for one in after.works if one.key == most), after.clock)]


def _ticks_used(before: tuple[Work, ...], after: tuple[Work, ...]) -> dict[str, int]:
    """Ticks used between two looks by each process that is left, with those of its children that ended meanwhile."""
    known, left = {one.key: one for one in before}, {one.key for one in after}
    seen_of_ended: dict[int, int] = {}
    for one in before:
        if one.key not in left:
            seen_of_ended[one.parent] = seen_of_ended.get(one.parent, 0) + one.ticks + one.ended_ticks
    used = {}
    for one in after:
        was = known.get(one.key)
        own = one.ticks - (was.ticks if was else 0)
        collected = one.ended_ticks - (was.ended_ticks if was else 0) - seen_of_ended.get(one.pid, 0)
        used[one.key] = own + max(0, collected)
    return used
