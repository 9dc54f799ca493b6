"""What an allocation costs: one function for receipts, caps and estimates (money.md, Ledger).

From billing start to the end of billing, rounded up to the offer's increment once per allocation, at least its minimum, at the
frozen rate; an exact fraction until it is rounded half-up, once, to a micro-USD.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from nodusctl.base.money import MICRO, ZERO, Money
from nodusctl.placement.rounding import billed_seconds

_MICROSECOND = timedelta(microseconds=1)


def elapsed_seconds(span: timedelta) -> Fraction:
    """Exact seconds of a span, never negative."""
    return Fraction(max(span, timedelta(0)) // _MICROSECOND, 10**6)


def charge(seconds: int | Fraction, rate_usd_per_hour: Money, increment_seconds: int = 1, minimum_seconds: int = 0) -> Money:
    """The charge for one allocation of ``seconds``; zero seconds mean that nothing was allocated and cost nothing."""
    return at_rate(billed_seconds(seconds, increment_seconds, minimum_seconds), rate_usd_per_hour)


def at_rate(seconds: int | Fraction, rate_usd_per_hour: Money) -> Money:
    """``seconds`` at an hourly rate without rounding the time; the amount is rounded half-up once."""
    return Money.from_fraction(Fraction(rate_usd_per_hour.micro, MICRO) * seconds / 3600)


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSeconds:
    """How an allocation's time divides; the parts are exact seconds and follow each other in this order."""

    boot: Fraction = Fraction(0)
    restore: Fraction = Fraction(0)
    running: Fraction = Fraction(0)
    teardown: Fraction = Fraction(0)

    @property
    def total(self) -> Fraction:
        """From billing start to its end."""
        return self.boot + self.restore + self.running + self.teardown


def segment_seconds(
    *,
    billing_start: datetime | None,
    ready: datetime | None,
    stop_asked: datetime | None,
    end: datetime,
    is_replacement: bool = False,
) -> SegmentSeconds:
    """Divide billing start to ``end``; a time before the one it must follow counts as equal to it.

    An allocation that never got ready is boot until the stop was asked. ``is_replacement`` (it took over after capacity was lost)
    makes its time to ready restore instead of boot. ``billing_start`` None means that nothing was allocated.
    """
    if billing_start is None:
        return SegmentSeconds()
    finish = max(billing_start, end)
    stop = min(max(billing_start, stop_asked or finish), finish)
    start_of_use = min(max(billing_start, ready), stop) if ready is not None else stop
    until_ready = elapsed_seconds(start_of_use - billing_start)
    return SegmentSeconds(
        boot=Fraction(0) if is_replacement else until_ready,
        restore=until_ready if is_replacement else Fraction(0),
        running=elapsed_seconds(stop - start_of_use),
        teardown=elapsed_seconds(finish - stop),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """A charge divided (seed CostSegments). The four amounts add up to ``total`` exactly."""

    boot: Money
    restore: Money
    running: Money
    teardown: Money

    @property
    def total(self) -> Money:
        """The charge itself."""
        return self.boot + self.restore + self.running + self.teardown


def segments(parts: SegmentSeconds, rate_usd_per_hour: Money, increment_seconds: int = 1, minimum_seconds: int = 0) -> Segments:
    """Divide the charge of ``parts``. Each boundary is rounded, not each part, and teardown takes the increment and minimum remainder."""
    total = charge(parts.total, rate_usd_per_hour, increment_seconds, minimum_seconds)
    boot = at_rate(parts.boot, rate_usd_per_hour)
    to_restored = at_rate(parts.boot + parts.restore, rate_usd_per_hour)
    to_stop = at_rate(parts.boot + parts.restore + parts.running, rate_usd_per_hour)
    return Segments(boot=boot, restore=to_restored - boot, running=to_stop - to_restored, teardown=total - to_stop)


NOTHING_CHARGED = Segments(boot=ZERO, restore=ZERO, running=ZERO, teardown=ZERO)
"""Nothing was allocated."""
