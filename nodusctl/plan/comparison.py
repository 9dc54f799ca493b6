"""What a plan changes in the cost of everything: each object's rate and monthly amount now, and after the plan.

An hour counts what may run, a month 730 such hours and the storage. Both are the cost of running, not a forecast of use: a Workspace with a
window or a cap costs less than its month.
"""

from __future__ import annotations

from dataclasses import dataclass

from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What something costs while it is there: USD an hour of compute, and USD per 730 h with storage.

    ``lacks_rate``: a compute price is unknown, so both amounts are lower bounds; ``lacks_storage``: a storage price is, so the month is.
    """

    rate_usd_per_hour: Money
    monthly_usd: Money
    lacks_rate: bool = False
    lacks_storage: bool = False

    @property
    def lacks_month(self) -> bool:
        """True where the month is a lower bound."""
        return self.lacks_rate or self.lacks_storage

    def __add__(self, other: Running) -> Running:
        return Running(
            rate_usd_per_hour=self.rate_usd_per_hour + other.rate_usd_per_hour,
            monthly_usd=self.monthly_usd + other.monthly_usd,
            lacks_rate=self.lacks_rate or other.lacks_rate,
            lacks_storage=self.lacks_storage or other.lacks_storage,
        )


NOTHING = Running(rate_usd_per_hour=ZERO, monthly_usd=ZERO)
UNKNOWN = Running(rate_usd_per_hour=ZERO, monthly_usd=ZERO, lacks_rate=True)
"""A machine without a price: nothing is known of it, which is not that it costs nothing."""


def stored(monthly_usd: Money | None) -> Running:
    """What a disk costs; None is an unknown price."""
    return Running(rate_usd_per_hour=ZERO, monthly_usd=monthly_usd or ZERO, lacks_storage=monthly_usd is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostChange:
    """One object whose cost of running changes; ``now`` is nothing for a new one, ``after`` for one that goes."""

    address: Address
    now: Running
    after: Running


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The sums over everything the state has, unchanged objects too, and the objects that change."""

    now: Running
    after: Running
    changes: tuple[CostChange, ...] = ()
