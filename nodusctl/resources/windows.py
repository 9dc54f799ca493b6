"""Weekly windows: ``Mon-Fri 09:00-17:00 Europe/Madrid``, several separated by ``;``, and the moments they stand for.

Both ends are local times mapped by RFC 5545: a time that a spring night skips is read with the offset before the jump, one that an autumn
night repeats is its first occurrence. An end at or before the start is on the next day. A window that comes out shorter than a minute
(its whole span was skipped) is no window that night; ``is_real`` says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_SHAPE = re.compile(
    r"(?P<days>[A-Za-z]{3}(?:-[A-Za-z]{3})?(?:,[A-Za-z]{3}(?:-[A-Za-z]{3})?)*|daily)\s+"
    r"(?P<start>\d{2}:\d{2})-(?P<end>\d{2}:\d{2})\s+(?P<zone>\S+)\Z",
    re.IGNORECASE,
)
_SHORTEST = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeeklyWindow:
    """``weekdays`` count from 0 (Monday); ``start`` and ``end`` are local times in ``zone``."""

    weekdays: frozenset[int]
    start: time
    end: time
    zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One night or day of a window, in UTC. ``id`` is its start, the name under which it is used once."""

    start: datetime
    end: datetime

    @property
    def id(self) -> str:
        """``2026-10-26T08:00:00Z``."""
        return self.start.strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def is_real(self) -> bool:
        """False where a change of the clock swallowed it."""
        return self.end - self.start >= _SHORTEST


def parse_windows(text: str) -> tuple[WeeklyWindow, ...]:
    """Read the annotation; ValueError says, as the end of a sentence, what it is to be."""
    return tuple(_parse_one(part.strip()) for part in text.split(";"))


def occurrences(window: WeeklyWindow, since: datetime, until: datetime) -> Iterator[Occurrence]:
    """Occurrences that end after ``since`` and start before ``until``, in order, those that aren't real among them."""
    zone = ZoneInfo(window.zone)
    day = since.astimezone(zone).date() - timedelta(days=2)
    last = until.astimezone(zone).date() + timedelta(days=1)
    while day <= last:
        if day.weekday() in window.weekdays:
            found = _on(window, day, zone)
            if max(found.start, found.end) > since and found.start < until:
                yield found
        day += timedelta(days=1)


def _on(window: WeeklyWindow, day: date, zone: ZoneInfo) -> Occurrence:
    end_day = day if window.end > window.start else day + timedelta(days=1)
    return Occurrence(start=_moment(day, window.start, zone), end=_moment(end_day, window.end, zone))


def _moment(day: date, at: time, zone: ZoneInfo) -> datetime:
    # fold=0 is RFC 5545's reading of both kinds of night: the first of two, and the offset before a gap.
    return datetime.combine(day, at, tzinfo=zone).astimezone(UTC)


def _parse_one(part: str) -> WeeklyWindow:
    found = _SHAPE.match(part)
    if found is None:
        raise ValueError("it is windows such as 'Mon-Fri 09:00-17:00 Europe/Madrid', several separated by ';'")
    try:
        ZoneInfo(found["zone"])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{found['zone']!r} is no time zone of the IANA database, such as Europe/Madrid") from None
    return WeeklyWindow(
        weekdays=_weekdays(found["days"]),
        start=_clock(found["start"]),
        end=_clock("00:00" if found["end"] == "24:00" else found["end"]),
        zone=found["zone"],
    )


def _clock(text: str) -> time:
    hours, minutes = int(text[:2]), int(text[3:])
    if hours > 23 or minutes > 59:
        raise ValueError(f"{text!r} is no time of day; write 00:00 to 23:59")
    return time(hours, minutes)


def _weekdays(text: str) -> frozenset[int]:
    if text.lower() == "daily":
        return frozenset(range(7))
    days: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        start, end = _day(first), _day(last or first)
        days |= {(start + step) % 7 for step in range((end - start) % 7 + 1)}
    return frozenset(days)


def _day(text: str) -> int:
    name = text.capitalize()
    if name not in DAYS:
        raise ValueError(f"{text!r} is no day; write {', '.join(DAYS)} or daily")
    return DAYS.index(name)
