"""Amounts that may be incomplete: a total with an unknown price in it says "at least", one without an end says "no limit"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from nodusctl.base.money import ZERO, Money
from nodusctl.pricing.charge import at_rate

HOURS_A_MONTH = 730
GIB = 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """An amount in USD. ``is_at_least``: an unknown price isn't in it. ``has_limit`` False: it never ends, and ``amount`` means nothing."""

    amount: Money = ZERO
    is_at_least: bool = False
    has_limit: bool = True

    @property
    def shown(self) -> str:
        """``$5.00``, ``at least $5.00`` or ``no limit``."""
        if not self.has_limit:
            return "no limit"
        return f"at least {self.amount.shown}" if self.is_at_least else self.amount.shown

    def __add__(self, other: Figure) -> Figure:
        return Figure(
            amount=self.amount + other.amount,
            is_at_least=self.is_at_least or other.is_at_least,
            has_limit=self.has_limit and other.has_limit,
        )


NO_LIMIT = Figure(has_limit=False)
UNKNOWN = Figure(is_at_least=True)


def figure_of(amount: Money | None) -> Figure:
    """A known amount, or the unknown one that turns every total into "at least"."""
    return UNKNOWN if amount is None else Figure(amount=amount)


def sum_figures(figures: Iterable[Figure]) -> Figure:
    """The total: unlimited if any part is, at least if any part is."""
    result = Figure()
    for one in figures:
        result += one
    return result


def sum_known(amounts: Iterable[Money | None]) -> Figure:
    """The total of amounts of which some may be unknown (None)."""
    return sum_figures(figure_of(amount) for amount in amounts)


def monthly(rate_usd_per_hour: Money, count: int = 1) -> Money:
    """``count`` machines at an hourly rate for 730 hours."""
    return at_rate(HOURS_A_MONTH * 3600 * count, rate_usd_per_hour)


def warm_capacity_line(workers: int, rate: Money | None) -> str:
    """``warm capacity 2 x $1.10/h = $1,606.00 per 730 h``."""
    if rate is None:
        return f"warm capacity {workers} x unknown"
    return f"warm capacity {workers} x {rate.shown}/h = {monthly(rate, workers).shown} per {HOURS_A_MONTH} h"


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageLine:
    """What a Volume's disk costs a month while it exists; ``monthly`` None where the price is unknown, which blocks nothing."""

    volume: str
    size_bytes: int
    usd_per_gib_month: Money | None
    monthly: Money | None

    @property
    def shown(self) -> str:
        """``$5.00 per month`` or ``unknown``."""
        return "unknown" if self.monthly is None else f"{self.monthly.shown} per month"


def storage_line(volume: str, size_bytes: int, usd_per_gib_month: Money | None) -> StorageLine:
    """The cost line of a disk of ``size_bytes``."""
    amount = usd_per_gib_month.scaled(Fraction(size_bytes, GIB)) if usd_per_gib_month is not None else None
    return StorageLine(volume=volume, size_bytes=size_bytes, usd_per_gib_month=usd_per_gib_month, monthly=amount)
