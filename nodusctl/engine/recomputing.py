"""The arithmetic of a charge, written a second time for the checker: whole microseconds and micro-USD, rounded half-up once.

``pricing.charge`` is the only arithmetic that posts, caps and estimates. A check that called it too would agree with it whatever it did,
so this module repeats the rule in its own few lines and imports none of it. Integers do it: a rate times a time over an hour is one
division, and its half-up rounding is ``(2n + d) // 2d``. Nothing but ``receipts --verify`` may use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from nodusctl.state.terms import Terms

_SECOND = 1_000_000
_HOUR = 3600 * _SECOND
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class OwnSegments:
    """Micro-USD of each part; they add up to the charge by construction, because the last is what the others leave."""

    boot: int
    restore: int
    running: int
    teardown: int


def own_charge(began: datetime | None, ended: datetime, terms: Terms, micro_per_hour: int | None = None) -> int:
    """Micro-USD from ``began`` to ``ended``: up to the increment once, at least the minimum; nothing began costs nothing.

    ``micro_per_hour`` stands in for the frozen rate where a ceiling counts.
    """
    elapsed = _elapsed(began, ended)
    if elapsed == 0:
        return 0
    increment = terms.increment_seconds * _SECOND
    billed = max(-(-elapsed // increment) * increment, terms.minimum_seconds * _SECOND)
    return _at(terms.rate_usd_per_hour.micro if micro_per_hour is None else micro_per_hour, billed)


def own_segments(
    began: datetime | None, ready: datetime | None, stop_asked: datetime | None, ended: datetime, terms: Terms, *, is_replacement: bool
) -> OwnSegments:
    """The charge cut at two moments: ready, and the stop asked for. A replacement's time to ready is restore."""
    if began is None:
        return OwnSegments(0, 0, 0, 0)
    last = max(ended, began)
    stop = _within(stop_asked, began, last, otherwise=last)
    use = _within(ready, began, stop, otherwise=stop)
    to_use, to_stop = (_at(terms.rate_usd_per_hour.micro, _elapsed(began, moment)) for moment in (use, stop))
    whole = own_charge(began, ended, terms)
    boot, restore = (0, to_use) if is_replacement else (to_use, 0)
    return OwnSegments(boot, restore, to_stop - to_use, whole - to_stop)


def own_storage(begins: datetime, ends: datetime, size_bytes: int, micro_per_gib_month: int) -> int:
    """Micro-USD of a disk from ``begins`` to ``ends``: a month has 730 hours, a GiB 2**30 bytes."""
    above, below = size_bytes * micro_per_gib_month * _elapsed(begins, ends), 2**30 * 730 * _HOUR
    return (2 * above + below) // (2 * below)


def _within(moment: datetime | None, first: datetime, last: datetime, *, otherwise: datetime) -> datetime:
    return otherwise if moment is None else min(max(moment, first), last)


def _elapsed(began: datetime | None, ended: datetime) -> int:
    """Microseconds, never negative."""
    return 0 if began is None or ended <= began else (ended - began) // _MICROSECOND


def _at(micro_per_hour: int, microseconds: int) -> int:
    return (2 * micro_per_hour * microseconds + _HOUR) // (2 * _HOUR)
