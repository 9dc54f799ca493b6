"""When a Workspace starts and stops next, from what is stored: its openings, the edge its machine read back, its money and its last use.

Nothing is asked of a provider, so a stop for want of use is said as far as its last use is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.durations import parse_duration
from nodusctl.engine.inspect_connect import current_attempt
from nodusctl.lifecycle.edges import Bound, session_end
from nodusctl.lifecycle.windows import Opening, has_openings, upcoming, zone_of
from nodusctl.ports.journal import StoredObject
from nodusctl.state.records import Record
from nodusctl.state.status import ObjectStatus, Phase

DEFAULT_LEAD = timedelta(minutes=15)
_SHOWN = 3
_READ_BACK = timedelta(seconds=30)
"""An edge is read back in whole seconds, after the way there and back."""
_WHY = {
    Bound.CAP: "its maxCostUSD ends it",
    Bound.BUDGET: "a Budget ends it",
    Bound.FUNDS: "what was granted ends",
    Bound.SCHEDULE: "its window or stopAt ends it",
    Bound.LEASE: "its lease ends, unless a tick renews it before",
}
_LIVES = frozenset({Phase.STARTING, Phase.RUNNING, Phase.RECOVERING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """One Workspace's. ``openings`` are empty while it ``is_parked``; ``zone`` is its windows', empty for UTC.

    ``stops_by`` is the nearest end that is known, ``armed_until`` the edge as its machine read it back, ``idle_after`` how long without use
    its machine runs on; all None while none runs. ``idle_at`` is when that would be by the last use that was told of, None where that has
    passed: it was used since. ``skipped`` is the id of the last opening that was passed over.
    """

    zone: str = ""
    openings: tuple[Opening, ...] = ()
    is_parked: bool = False
    stops_by: datetime | None = None
    stops_because: str = ""
    armed_until: datetime | None = None
    idle_after: timedelta | None = None
    idle_at: datetime | None = None
    last_activity_at: datetime | None = None
    last_activity: str = ""
    skipped: str = ""
    skip_reason: str = ""
    skip_message: str = ""

    @property
    def next_start(self) -> datetime | None:
        """When its next machine starts by itself (seed ``nextScheduledStartTime``): ahead of when it is wanted ready."""
        return self.openings[0].due if self.openings else None


def times_of(stored: StoredObject, *, now: datetime, lead: timedelta = DEFAULT_LEAD) -> Times:
    """The times of a Workspace; ``lead`` is the project's ``windowLead``."""
    record, status = stored.record, stored.status
    attempt = _live(stored)
    stops_by, because = _stop(record, status, attempt, now)
    windows, idle_after = status.windows, _idle_after(record, attempt)
    return Times(
        zone=zone_of(record.annotations),
        openings=openings_ahead(record, status, now=now, lead=lead, until=stops_by),
        is_parked=is_parked(record),
        stops_by=stops_by,
        stops_because=because,
        armed_until=attempt.edge_at if attempt is not None else None,
        idle_after=idle_after,
        idle_at=_idle_at(status, attempt, idle_after, now),
        last_activity_at=status.last_activity_at,
        last_activity=status.last_activity,
        skipped=windows.skipped if windows is not None else "",
        skip_reason=windows.skip_reason if windows is not None else "",
        skip_message=windows.skip_message if windows is not None else "",
    )


def is_parked(record: Record) -> bool:
    """True where spec.state Stopped holds a schedule or windows."""
    return record.spec.get("state", "Running") == "Stopped" and has_openings(record.spec, record.annotations)


def openings_ahead(
    record: Record, status: ObjectStatus, *, now: datetime, lead: timedelta, until: datetime | None = None
) -> tuple[Opening, ...]:
    """The next openings; those that the session under way (``until``) covers are none. Empty for a parked Workspace."""
    if is_parked(record):
        return ()
    found = upcoming(record.spec, record.annotations, lead, now, standing=status.windows, count=_SHOWN + 1)
    return tuple(one for one in found if until is None or status.phase not in _LIVES or one.start >= until)[:_SHOWN]


def _live(stored: StoredObject) -> Attempt | None:
    """The Attempt whose machine is, or may be, there."""
    attempt = current_attempt(stored)
    is_there = attempt is not None and attempt.machine is not None and not attempt.is_released
    return attempt if is_there and stored.status.phase in _LIVES else None


def _stop(record: Record, status: ObjectStatus, attempt: Attempt | None, now: datetime) -> tuple[datetime | None, str]:
    if attempt is None:
        return None, ""
    by_times = session_end(record, status.session, now)
    edge = attempt.edge_at
    is_armed = attempt.edge_bound == Bound.SCHEDULE
    if by_times is not None and (edge is None or by_times <= edge or (is_armed and by_times - edge < _READ_BACK)):
        return by_times, _WHY[Bound.SCHEDULE]
    return edge, next((words for bound, words in _WHY.items() if bound == attempt.edge_bound), "")


def _idle_after(record: Record, attempt: Attempt | None) -> timedelta | None:
    limit = parse_duration(str(record.spec.get("idleTimeout", "1h")))
    return limit if limit and attempt is not None and attempt.timings.ready_at is not None else None


def _idle_at(status: ObjectStatus, attempt: Attempt | None, idle_after: timedelta | None, now: datetime) -> datetime | None:
    if idle_after is None or attempt is None or attempt.timings.ready_at is None:
        return None
    moment = max(status.last_activity_at or attempt.timings.ready_at, attempt.timings.ready_at) + idle_after
    return moment if moment > now else None
