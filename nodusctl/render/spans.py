"""Moments and lengths of time for people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from nodusctl.base.timestamps import format_time


def moment_text(moment: datetime | None) -> str:
    """RFC 3339 UTC to the second; empty for None."""
    return format_time(moment.astimezone(UTC).replace(microsecond=0)) if moment is not None else ""


def age_text(span: timedelta) -> str:
    """The two largest units: ``3d4h``, ``5h12m``, ``2m10s``, ``8s``; a span before now counts as 0s."""
    seconds = max(0, int(span.total_seconds()))
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, seconds = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "m"), (seconds, "s")]
    first = next((index for index, (count, _) in enumerate(parts) if count), 3)
    shown = [f"{count}{unit}" for count, unit in parts[first : first + 2] if count]
    return "".join(shown) or "0s"
