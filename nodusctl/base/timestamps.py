"""RFC 3339 times. Everything inside is aware and UTC; only text at the edges carries other offsets."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_RFC3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})\Z")


def parse_time(text: str) -> datetime:
    """Read RFC 3339 with an offset as UTC; ValueError says what is right."""
    if not _RFC3339.match(text):
        raise ValueError("a time is RFC 3339 with an offset, such as 2026-10-26T09:00:00+02:00")
    return datetime.fromisoformat(text.upper().replace(" ", "T")).astimezone(UTC)


def format_time(moment: datetime) -> str:
    """``2026-10-26T07:00:00Z``; fractions of a second only where there are any."""
    text = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
    return f"{text}{fraction}Z"
