"""Moments as whole microseconds since 1970, the form the world's database keeps and compares them in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
SECOND = 1_000_000


def to_micro(moment: datetime) -> int:
    """Microseconds since 1970, exact."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micro(micro: int) -> datetime:
    """The moment, UTC."""
    return _EPOCH + timedelta(microseconds=micro)


def moment_or_none(micro: int | None) -> datetime | None:
    """The moment, or None for None."""
    return None if micro is None else from_micro(micro)


def span_micro(duration: timedelta) -> int:
    """A duration in microseconds."""
    return duration // _MICROSECOND
