"""What is due whatever the files say: open intents to settle, objects on their way, machines nothing desired explains.

These are never changes. They stand in a section of their own, so that an unfinished apply is visible without making a plan of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from nodusctl.attempts.intents import Intent, StepKind
from nodusctl.base.durations import format_duration
from nodusctl.base.timestamps import format_time
from nodusctl.lifecycle.edges import session_end
from nodusctl.lifecycle.homes import restore_is_pending
from nodusctl.lifecycle.opening import is_too_late
from nodusctl.lifecycle.windows import unused_until
from nodusctl.plan.plan import DueStep
from nodusctl.planner.world import World
from nodusctl.state.snapshot import Standing
from nodusctl.state.status import Phase

_ON_ITS_WAY = {
    Phase.PENDING: ("start", "it waits for a machine"),
    Phase.STARTING: ("go on starting", "its machine is on its way"),
    Phase.RECOVERING: ("go on recovering", "its machine was lost"),
    Phase.STOPPING: ("finish the stop", "its machine is being given back"),
    Phase.TERMINATING: ("finish the removal", "it is being removed"),
}
_IN_SESSION = frozenset({Phase.STARTING, Phase.RUNNING, Phase.RECOVERING})
_AT_REST = frozenset({Phase.STOPPED, Phase.FAILED})
_SETTLING = {
    StepKind.LAUNCH: "adopt the machine if it was made, else ask again",
    StepKind.CREATE_DISK: "adopt the disk if it was made, else ask again",
}


def due_steps(world: World) -> Iterator[DueStep]:
    """Steps the next apply takes before and beside the plan, settling first."""
    unsettled = {intent.address for intent in world.intents}
    for intent in world.intents:
        yield DueStep(address=intent.address, what=_SETTLING.get(intent.step, "settle it"), because=_opened(intent, world))
    for standing in world.snapshot:
        if standing.record.address not in unsettled:
            yield from _lost(standing, world)
            yield from _on_its_way(standing)
            yield from _due_by_time(standing, world)


def _due_by_time(standing: Standing, world: World) -> Iterator[DueStep]:
    """What the clock alone makes due for a Workspace; its machine is not looked at."""
    record, status = standing.record, standing.status
    if record.address.kind != "workspace" or record.deletion_requested_at is not None:
        return
    if status.phase in _IN_SESSION:
        end = session_end(record, status.session, world.now)
        if end is not None and end <= world.now:
            yield DueStep(address=record.address, what="stop", because=f"its time was over at {format_time(end)}")
        return
    if status.phase not in _AT_REST or status.windows is None or record.spec.get("state", "Running") != "Running":
        return
    due = unused_until(record.spec, record.annotations, world.window_lead, world.now, status.windows)
    for opening in due:
        opens = format_time(opening.start)
        if opening.is_open(world.now) and not is_too_late(opening, record.annotations, world.now):
            yield DueStep(address=record.address, what="start", because=f"its window of {opens} is due")
        else:
            yield DueStep(address=record.address, what="record a skip", because=f"its window of {opens} was missed")


def _lost(standing: Standing, world: World) -> Iterator[DueStep]:
    seen = world.outside.lost.get(standing.record.address)
    if seen is None or standing.status.phase is not Phase.RUNNING:
        return
    has_home = isinstance(standing.record.spec.get("volume"), str)
    what = "recover its session on another machine, its home is kept" if has_home else "close its session"
    yield DueStep(address=standing.record.address, what=what, because=seen)


def _opened(intent: Intent, world: World) -> str:
    seconds = max(world.now - intent.opened_at, timedelta(0)) // timedelta(seconds=1)
    return f"its step {intent.step.value} was opened {format_duration(timedelta(seconds=seconds))} ago and never closed"


def _on_its_way(standing: Standing) -> Iterator[DueStep]:
    record, status = standing.record, standing.status
    if record.address.kind == "volume":
        if record.deletion_requested_at is not None:
            yield DueStep(address=record.address, what="finish the removal", because="it is being removed")
        elif restore_is_pending(record, status):
            yield DueStep(address=record.address, what="restore a revision", because="its owner asked for it")
        return
    if record.address.kind != "workspace":
        return
    if record.deletion_requested_at is not None and status.phase is not Phase.TERMINATING:
        yield DueStep(address=record.address, what="finish the removal", because="it is being removed")
    elif status.phase in _ON_ITS_WAY:
        what, because = _ON_ITS_WAY[status.phase]
        yield DueStep(address=record.address, what=what, because=status.message or because)
    elif status.start_is_asked:
        yield DueStep(address=record.address, what="start", because="its owner asked for it")
