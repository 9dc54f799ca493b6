"""Go duration strings (``90s``, ``1h30m``), the spelling Kubernetes users know; held as ``timedelta``."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

_UNITS = {
    "ns": Fraction(1, 1000),
    "us": Fraction(1),
    "µs": Fraction(1),
    "ms": Fraction(1000),
    "s": Fraction(10**6),
    "m": Fraction(60 * 10**6),
    "h": Fraction(3600 * 10**6),
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)")


def parse_duration(text: str) -> timedelta:
    """Read a Go duration; ValueError says what is right. Resolution: one microsecond."""
    if text == "0":
        return timedelta(0)
    position, microseconds = 0, Fraction(0)
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            break
        microseconds += Fraction(part[1]) * _UNITS[part[2]]
        position = part.end()
    if not text or position != len(text):
        raise ValueError("a duration is a number with a unit, such as 90s, 45m or 1h30m")
    return timedelta(microseconds=int(microseconds))


def format_duration(value: timedelta) -> str:
    """The shortest Go spelling: ``1h30m``, ``45s``, ``1.5s``, ``0s``."""
    microseconds = value // timedelta(microseconds=1)
    if microseconds < 0:
        return "-" + format_duration(-value)
    hours, microseconds = divmod(microseconds, 3600 * 10**6)
    minutes, microseconds = divmod(microseconds, 60 * 10**6)
    seconds, rest = divmod(microseconds, 10**6)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else ""]
    if seconds or rest or not any(parts):
        parts.append(f"{seconds}" + (f".{rest:06d}".rstrip("0") if rest else "") + "s")
    return "".join(parts)
