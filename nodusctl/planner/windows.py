"""Whether a Workspace may run now by its schedule and windows: one with any of them, none open, is admitted Stopped.

``spec.schedule`` and the annotation ``nodus.dev/windows`` add up. An end at or before its start is on the next day.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from nodusctl.base.timestamps import parse_time

WINDOWS = "nodus.dev/windows"
SCHEDULE_LEAD = timedelta(minutes=15)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def is_open(spec: Mapping[str, Any], annotations: Mapping[str, str], now: datetime, lead: timedelta) -> bool:
    """True without schedule and windows, and while one of them is open; ``lead`` is how long before a window its machine starts."""
    schedule, windows = spec.get("schedule") or {}, annotations.get(WINDOWS, "")
    if not schedule and not windows.strip():
        return True
    return (bool(schedule) and _schedule_is_open(schedule, now)) or any(
        _window_is_open(part, now, lead) for part in windows.split(";") if part.strip()
    )


def _schedule_is_open(schedule: Mapping[str, Any], now: datetime) -> bool:
    ready_by, stop_at = schedule.get("readyBy"), schedule.get("stopAt")
    has_begun = not isinstance(ready_by, str) or parse_time(ready_by) - SCHEDULE_LEAD <= now
    return has_begun and (not isinstance(stop_at, str) or now < parse_time(stop_at))


def _window_is_open(text: str, now: datetime, lead: timedelta) -> bool:
    """``Mon-Fri 09:00-17:00 Europe/Madrid``; its form was checked when the file was read."""
    days, hours, zone_name = text.split()
    zone = ZoneInfo(zone_name)
    start, end = (_minutes(part) for part in hours.split("-"))
    length = (end - start) % (24 * 60) or 24 * 60
    today = now.astimezone(zone).date()
    for offset in (-1, 0, 1):
        day = today + timedelta(days=offset)
        if day.weekday() not in _weekdays(days):
            continue
        midnight = datetime(day.year, day.month, day.day, tzinfo=zone)
        opens, closes = (_at(midnight, minutes) for minutes in (start, start + length))
        if opens.timestamp() - lead.total_seconds() <= now.timestamp() < closes.timestamp():
            return True
    return False


def _at(midnight: datetime, minutes: int) -> datetime:
    """Wall-clock time on the day, also across a change of the clocks."""
    day = midnight + timedelta(days=minutes // (24 * 60))
    return day.replace(hour=minutes % (24 * 60) // 60, minute=minutes % 60)


def _minutes(text: str) -> int:
    hours, _, minutes = text.partition(":")
    return int(hours) * 60 + int(minutes)


def _weekdays(text: str) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        start, end = _DAYS.index(first), _DAYS.index(last or first)
        found |= {day % 7 for day in range(start, end + 1 if end >= start else end + 8)}
    return frozenset(found)
