"""The terms a machine may be started on: what a reviewer approved, and what an Attempt freezes.

Terms are complete on purpose. A start that happens at night, with the price book moved on, needs nothing but these to know
what it may try, in which order, and up to which price.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from nodusctl.base.money import Money

CEILING_FACTOR = Fraction(110, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """One offer at one price.

    ``rate_usd_per_hour`` is what the plan showed; ``ceiling_usd_per_hour`` the most apply may accept (rate times 1.10, rounded half-up to a
    micro-USD). ``price_origin`` is quoted, book, configured or free. ``stop_bound`` is quiesce limit plus release bound. ``account`` is the
    provider's identity when they were approved (rule R12); empty where that was never written down. ``price_ttl`` is how long the price
    counts as current after it was observed; None where it doesn't age. ``edge_ends_billing`` is True where
    a machine's own shutdown at its armed edge ends the bill; False also where that was never written down. ``unit_ids`` are the exclusive
    devices a start takes, ``spare_unit_ids`` the other sets it may take instead, in order: offer and price are the same on each.
    ``storage_usd_per_gib_month`` is the price of a disk made there; None where it is unknown or was never written down.
    """

    offer_key: str
    offering: str
    provider: str
    instance_type: str
    region: str = ""
    zone: str
    location: str
    region_class: str
    is_interruptible: bool = False
    is_own_hardware: bool = False
    unit_ids: tuple[str, ...] = ()
    spare_unit_ids: tuple[tuple[str, ...], ...] = ()
    rate_usd_per_hour: Money
    ceiling_usd_per_hour: Money
    price_origin: str
    price_source: str
    price_observed_at: datetime | None
    book_version: str
    increment_seconds: int
    minimum_seconds: int
    stop_bound: timedelta
    startup_p50: timedelta
    startup_p90: timedelta
    account: str = ""
    edge_ends_billing: bool = False
    price_ttl: timedelta | None = None
    storage_usd_per_gib_month: Money | None = None

    def on_each(self) -> tuple[Terms, ...]:
        """The same terms once for every set of devices, without spares: what one start freezes."""
        if not self.spare_unit_ids:
            return (self,)
        return tuple(replace(self, unit_ids=units, spare_unit_ids=()) for units in (self.unit_ids, *self.spare_unit_ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The ordered terms of the last applied plan of an object; unattended starts stay inside it.

    ``estimate`` is that plan's, in the shape of ``status.estimate``, without why the offer was chosen: an Attempt says that of itself.
    """

    terms: tuple[Terms, ...]
    plan_hash: str
    approved_at: datetime
    approved_by: str
    estimate: Mapping[str, Any] = field(default_factory=dict)


def ceiling(rate: Money) -> Money:
    """Rate times 1.10; at or under it apply goes on, above it apply refuses (seed: placed never above rate plus 10 %)."""
    return rate.scaled(CEILING_FACTOR)
