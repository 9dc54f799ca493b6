"""A moment as a person in a time zone says it: ``Mon 26 Oct 09:00``. English in every locale; an empty zone is UTC."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def local_text(moment: datetime, zone: str) -> str:
    """``Mon 26 Oct 09:00 Europe/Madrid``."""
    return f"{_day_and_time(moment.astimezone(_zone(zone)))} {zone or 'UTC'}"


def local_span_text(start: datetime, end: datetime | None, zone: str) -> str:
    """``Mon 26 Oct 09:00-17:00 Europe/Madrid``; the end's day is said where it is another one, and without an end there is only a start."""
    if end is None:
        return local_text(start, zone)
    first, last = start.astimezone(_zone(zone)), end.astimezone(_zone(zone))
    until = f"-{last:%H:%M}" if last.date() == first.date() else f" - {_day_and_time(last)}"
    return f"{_day_and_time(first)}{until} {zone or 'UTC'}"


def _day_and_time(moment: datetime) -> str:
    return f"{_DAYS[moment.weekday()]} {moment.day} {_MONTHS[moment.month - 1]} {moment:%H:%M}"


def _zone(name: str) -> tzinfo:
    return ZoneInfo(name) if name else UTC
