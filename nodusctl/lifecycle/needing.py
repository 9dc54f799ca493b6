"""Whether an object needs somebody who ticks, and since when: from record and status alone, like the choice of a pass.

The surprise: a Workspace that runs needs it less than one that rests and has windows. The machine ends itself at its edge whatever happens;
a window that nobody looks after never opens.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from nodusctl.base.ids import Address
from nodusctl.lifecycle.windows import upcoming
from nodusctl.state.snapshot import Standing
from nodusctl.state.status import Phase

_COMES_UP = frozenset({Phase.PENDING, Phase.STARTING, Phase.RECOVERING})
_GOES_DOWN = frozenset({Phase.STOPPING, Phase.TERMINATING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """``is_promised`` where something stays undone that a person counts on; else the machine looks after itself for a while."""

    address: Address
    since: datetime
    why: str
    is_promised: bool


def need_of(standing: Standing, now: datetime, lead: timedelta) -> Need | None:
    """Why this object needs a pass now and then; None for what rests without a time to run, and for all that has no machine."""
    record, status = standing.record, standing.status
    if record.address.kind != "workspace":
        return None
    since = status.session.began_at if status.session is not None else record.created_at
    why = _unfinished(status.phase) or _window_ahead(standing, now, lead)
    if why:
        return Need(address=record.address, since=since, why=why, is_promised=True)
    if status.phase is Phase.RUNNING:
        why = "it runs: its lease isn't renewed, it isn't replaced if it is lost, and its end is noticed late"
        return Need(address=record.address, since=since, why=why, is_promised=False)
    return None


def _unfinished(phase: Phase) -> str:
    if phase in _COMES_UP:
        return f"it is {phase}, and nobody carries its start on"
    if phase in _GOES_DOWN:
        return f"it is {phase}, and nobody carries its stop on: its machine may cost money"
    return ""


def _window_ahead(standing: Standing, now: datetime, lead: timedelta) -> str:
    record, status = standing.record, standing.status
    if record.deletion_requested_at is not None or record.spec.get("state", "Running") != "Running":
        return ""
    ahead = upcoming(record.spec, record.annotations, lead, now, standing=status.windows, count=1)
    return f"it is to start by itself for {ahead[0].start:%Y-%m-%d %H:%M} UTC" if ahead else ""
