"""Which objects a pass looks at, and in which turn: cheap, from the record and status alone, so that ten thousand at rest cost nothing.

What may end or is on its way comes first, what only begins comes last: no start that hangs ever delays a stop.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import IntEnum

from nodusctl.lifecycle.homes import restore_is_pending
from nodusctl.lifecycle.wanted import has_open_request
from nodusctl.lifecycle.windows import has_openings, unused_until, windows_digest
from nodusctl.state.records import Record
from nodusctl.state.snapshot import Standing
from nodusctl.state.status import ObjectStatus, Phase

ALIVE = frozenset({Phase.STARTING, Phase.RUNNING, Phase.RECOVERING, Phase.STOPPING, Phase.TERMINATING})
"""Phases in which something of a Workspace may be outside."""


class Turn(IntEnum):
    """The two halves of a pass."""

    GOES_ON = 1
    BEGINS = 2


def turn_of(standing: Standing, now: datetime, lead: timedelta) -> Turn | None:
    """The half of a pass an object belongs to; None where nothing can be due."""
    record, status = standing.record, standing.status
    if standing.has_open_intent or record.deletion_requested_at is not None:
        return Turn.GOES_ON if record.address.kind in {"workspace", "volume"} or record.deletion_requested_at else None
    if record.address.kind == "volume":
        return Turn.GOES_ON if restore_is_pending(record, status) else None
    if record.address.kind != "workspace":
        return None
    if status.phase in ALIVE:
        return Turn.GOES_ON
    if status.phase is Phase.PENDING or status.start_is_asked or has_open_request(record, status):
        return Turn.BEGINS
    return Turn.BEGINS if _opening_is_due(record, status, now, lead) else None


def _opening_is_due(record: Record, status: ObjectStatus, now: datetime, lead: timedelta) -> bool:
    standing = status.windows
    if not has_openings(record.spec, record.annotations):
        return False
    if standing is None or standing.digest != windows_digest(record.spec, record.annotations):
        return True
    if record.spec.get("state", "Running") != "Running":
        return False
    return bool(unused_until(record.spec, record.annotations, lead, now, standing))
