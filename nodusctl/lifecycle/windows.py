"""Openings: the times at which a Workspace is to run, from ``spec.schedule`` and its weekly windows; both add up.

An opening is used once, under its id. The surprise: nothing counts down. What is due is worked out from the clock and from what is
already used, so a tick that comes late, twice, or from another computer comes to the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from nodusctl.base.canonical import digest
from nodusctl.base.timestamps import parse_time
from nodusctl.resources.windows import WeeklyWindow, occurrences, parse_windows
from nodusctl.state.status import WindowsStanding

WINDOWS, LATE_START = "nodus.dev/windows", "nodus.dev/late-start"
SCHEDULE_LEAD = timedelta(minutes=15)
LATE_LIMIT = timedelta(minutes=30)
_WEEK = timedelta(days=8)
_LONGEST_BACK = timedelta(days=35)
_IDS_KEPT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """One time to run. ``due`` is when its machine is started, ``start`` when a person wants it; ``end`` None has no end of its own.

    ``zone`` is that of a weekly window, empty for the schedule. ``is_real`` is False where a change of the clock swallowed it.
    """

    start: datetime
    due: datetime
    end: datetime | None
    zone: str = ""
    is_real: bool = True

    @property
    def id(self) -> str:
        """Its start in UTC, the name under which it is used once."""
        return self.start.strftime("%Y-%m-%dT%H:%M:%SZ")

    def is_open(self, now: datetime) -> bool:
        """True from the moment it is due until its end."""
        return self.due <= now and (self.end is None or now < self.end)


def has_openings(spec: Mapping[str, Any], annotations: Mapping[str, str]) -> bool:
    """True where a schedule or windows say when it runs."""
    return bool(spec.get("schedule")) or bool(annotations.get(WINDOWS, "").strip())


def zone_of(annotations: Mapping[str, str]) -> str:
    """The zone of its first window, to say moments in; empty without windows."""
    windows = _parsed(annotations.get(WINDOWS, "").strip())
    return windows[0].zone if windows else ""


def windows_digest(spec: Mapping[str, Any], annotations: Mapping[str, str]) -> str:
    """Stands for what was written of times, and for whether windows act at all (they do only while spec.state is Running)."""
    return digest([dict(spec.get("schedule") or {}), annotations.get(WINDOWS, ""), spec.get("state", "Running")])


def openings(
    spec: Mapping[str, Any], annotations: Mapping[str, str], lead: timedelta, since: datetime, until: datetime
) -> tuple[Opening, ...]:
    """Openings that end after ``since`` and are due at or before ``until``, by when they are due."""
    found = [*_scheduled(spec), *_weekly(annotations, lead, since, until + lead + timedelta(minutes=1))]
    kept = {one.id: one for one in found if (one.end is None or max(one.start, one.end) > since) and one.due <= until}
    return tuple(sorted(kept.values(), key=lambda one: (one.due, one.start)))


def is_open(spec: Mapping[str, Any], annotations: Mapping[str, str], now: datetime, lead: timedelta) -> bool:
    """True without schedule and windows, and while one of them is open."""
    if not has_openings(spec, annotations):
        return True
    stop_at = _moment(spec, "stopAt")
    if spec.get("schedule") and _moment(spec, "readyBy") is None and (stop_at is None or now < stop_at):
        return True
    return any(one.is_real and one.is_open(now) for one in openings(spec, annotations, lead, now, now))


def upcoming(
    spec: Mapping[str, Any],
    annotations: Mapping[str, str],
    lead: timedelta,
    now: datetime,
    *,
    standing: WindowsStanding | None = None,
    count: int = 3,
) -> tuple[Opening, ...]:
    """The next times to run that are not used, at most ``count``: what a plan lists and ``nextScheduledStartTime`` is the first of.

    Openings that overlap or touch are one session, so they are one here; its ``end`` is when that session would stop.
    """
    if not has_openings(spec, annotations):
        return ()
    kept = [*_scheduled(spec), *_weekly(annotations, lead, now, now + _WEEK * (count + 1))]
    fresh = {one.id: one for one in kept if one.is_real and (one.end is None or one.end > now) and not is_used(standing, one)}
    found: list[Opening] = []
    for one in sorted(fresh.values(), key=lambda one: (one.due, one.start)):
        covered_until = found[-1].end if found else None
        if covered_until is None or one.start > covered_until:
            found.append(replace(one, end=stop_after(spec, annotations, one.start)))
        if len(found) > count:
            break
    return tuple(found[:count])


def is_used(standing: WindowsStanding | None, opening: Opening) -> bool:
    """True once it was started, skipped, or a session ended inside it."""
    return standing is not None and (opening.id in standing.used or opening.start <= standing.through)


def with_used(standing: WindowsStanding, opening: Opening) -> WindowsStanding:
    """The standing once an opening is over and done with. Few ids need keeping: a session that ends moves ``through`` past them."""
    return replace(standing, used=(*standing.used, opening.id)[-_IDS_KEPT:])


def unused_until(
    spec: Mapping[str, Any], annotations: Mapping[str, str], lead: timedelta, now: datetime, standing: WindowsStanding
) -> tuple[Opening, ...]:
    """Openings that are due and not used, oldest first, those that are already over among them."""
    since = max(standing.through, now - _LONGEST_BACK)
    return tuple(one for one in openings(spec, annotations, lead, since, now) if not is_used(standing, one))


def stop_after(spec: Mapping[str, Any], annotations: Mapping[str, str], began_at: datetime) -> datetime | None:
    """When a session that began then is to stop: the first end after it, of openings taken together where they touch. None: never."""
    if not has_openings(spec, annotations):
        return None
    stop_at = _moment(spec, "stopAt")
    spans = [(one.start, one.end) for one in _scheduled(spec) if one.end is not None]
    weekly = _weekly(annotations, timedelta(0), began_at, began_at + _WEEK)
    spans += [(one.start, one.end) for one in weekly if one.end is not None and one.is_real]
    ends = [end for _, end in _merged(spans) if end > began_at]
    if _moment(spec, "readyBy") is None and stop_at is not None and stop_at > began_at:
        ends.append(stop_at)
    return min(ends, default=None)


def _merged(spans: Iterable[tuple[datetime, datetime]]) -> tuple[tuple[datetime, datetime], ...]:
    merged: list[tuple[datetime, datetime]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple(merged)


def _scheduled(spec: Mapping[str, Any]) -> tuple[Opening, ...]:
    ready_by = _moment(spec, "readyBy")
    return () if ready_by is None else (Opening(start=ready_by, due=ready_by - SCHEDULE_LEAD, end=_moment(spec, "stopAt")),)


@lru_cache(maxsize=1024)
def _weekly_of(text: str, lead: timedelta, since: datetime, until: datetime) -> tuple[Opening, ...]:
    # Thousands of Workspaces share a few texts, and a pass asks for all of them at one moment.
    return tuple(
        Opening(start=one.start, due=one.start - lead, end=one.end, zone=window.zone, is_real=one.is_real)
        for window in _parsed(text)
        for one in occurrences(window, since, until)
    )


def _weekly(annotations: Mapping[str, str], lead: timedelta, since: datetime, until: datetime) -> tuple[Opening, ...]:
    return _weekly_of(annotations.get(WINDOWS, "").strip(), lead, since, until)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> tuple[WeeklyWindow, ...]:
    return parse_windows(text) if text else ()


def _moment(spec: Mapping[str, Any], key: str) -> datetime | None:
    text = (spec.get("schedule") or {}).get(key)
    return parse_time(text) if isinstance(text, str) else None
