"""How long money lasts: the stop point a machine is armed with, and the hold posted before it starts (money.md, Cap).

The stop point t* is the largest t with charge(t + W) <= remaining, where W is the provider's stop bound. It is solved exactly, so no
cap depends on how often anybody looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from nodusctl.base.money import Money
from nodusctl.pricing.charge import charge, elapsed_seconds
from nodusctl.state.terms import Terms

LONGEST = timedelta(days=36_500)
"""Stands for "money never ends it": a rate of zero, or a cap a century away."""
ROOM_AFTER_BOOT = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BillingTerms:
    """How an offer charges: the rate that binds (a spot ceiling where it is spot), the rounding, and the stop bound W."""

    rate_usd_per_hour: Money
    increment_seconds: int = 1
    minimum_seconds: int = 0
    stop_bound: timedelta = timedelta(0)

    @classmethod
    def frozen(cls, terms: Terms) -> BillingTerms:
        """From the terms an Attempt froze; what is interruptible is held and stopped at its ceiling."""
        return cls(
            rate_usd_per_hour=terms.ceiling_usd_per_hour if terms.is_interruptible else terms.rate_usd_per_hour,
            increment_seconds=terms.increment_seconds,
            minimum_seconds=terms.minimum_seconds,
            stop_bound=terms.stop_bound,
        )

    def charge(self, span: timedelta) -> Money:
        """The charge of one allocation of ``span``."""
        return charge(elapsed_seconds(span), self.rate_usd_per_hour, self.increment_seconds, self.minimum_seconds)

    @property
    def minimum_charge(self) -> Money:
        """The least one allocation costs: one increment, or the minimum."""
        return charge(1, self.rate_usd_per_hour, self.increment_seconds, self.minimum_seconds)


def stop_point(terms: BillingTerms, remaining: Money) -> timedelta | None:
    """The largest t, in whole seconds, with charge(t + W) <= remaining; None where even t = 0 costs more; LONGEST where nothing ends it."""
    if remaining.micro < 0:
        return None
    rate = terms.rate_usd_per_hour.micro
    if rate == 0:
        return LONGEST
    # Half-up rounding lets seconds in while rate * seconds / 3600 < remaining + 1/2 micro-USD.
    most_seconds = -(-(2 * remaining.micro + 1) * 3600 // (2 * rate)) - 1
    if most_seconds < terms.minimum_seconds:
        return None
    whole_increments = most_seconds // terms.increment_seconds * terms.increment_seconds
    bound_seconds = -(-terms.stop_bound // timedelta(seconds=1))
    seconds = whole_increments - bound_seconds
    return None if seconds < 0 else min(timedelta(seconds=min(seconds, int(LONGEST.total_seconds()))), LONGEST)


def first_hold(terms: BillingTerms, runs_for: timedelta, remaining: Money | None) -> Money:
    """min(charge(runs_for + W), remaining); ``runs_for`` is min(stopAt, launch + leaseTerm) - launch, ``remaining`` None without a cap."""
    hold = terms.charge(runs_for + terms.stop_bound)
    return hold if remaining is None else min(hold, remaining)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapTooSmall:
    """The cap stops the machine before it has booted and run a minute. ``smallest`` is the least remaining money that would do."""

    remaining: Money
    smallest: Money
    stops_after: timedelta | None


def cap_too_small(terms: BillingTerms, remaining: Money, boot_p90: timedelta) -> CapTooSmall | None:
    """CapTooSmall where t* < boot p90 + 1 min, checked at plan and before every launch, recovery included."""
    needed = boot_p90 + ROOM_AFTER_BOOT
    point = stop_point(terms, remaining)
    if point is not None and point >= needed:
        return None
    return CapTooSmall(remaining=remaining, smallest=terms.charge(needed + terms.stop_bound), stops_after=point)
