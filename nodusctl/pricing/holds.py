"""Which price holds for an offer, and where it came from: the one function that decides (money.md, Price book).

Rented capacity: quoted by the provider, else the book, else unknown. Own hardware: the configured rate, else a quote, else free, said
with the warning FreeCapacity. Nowhere else is zero a price: a quote of zero for rented capacity counts as no quote.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from nodusctl.base.durations import format_duration
from nodusctl.base.money import ZERO, Money
from nodusctl.placement.candidates import Candidate, candidate
from nodusctl.pricing.bands import DurationBand
from nodusctl.pricing.book import PriceBook, PriceRow
from nodusctl.provider.offers import Offer

POOL_SOURCE = "the Pool's rateUSDPerHour"
"""Where a price came from that a Pool gives its own hardware; it changes with the Pool's record and with nothing else."""
QUOTE_TTL = timedelta(hours=24)
"""A quote has no ttl of its own; after a day it is old."""


class Origin(StrEnum):
    """Where a price came from."""

    QUOTED = "quoted"
    BOOK = "book"
    CONFIGURED = "configured"
    FREE = "free"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """The price that holds. ``rate`` is USD per hour, None where unknown; ``observed_at`` and ``age`` None where a price has no age."""

    rate: Money | None
    origin: Origin
    source: str
    observed_at: datetime | None = None
    age: timedelta | None = None
    ttl: timedelta | None = None
    is_old: bool = False
    storage_usd_per_gib_month: Money | None = None
    stopped_usd_per_hour: Money | None = None

    @property
    def valid_until(self) -> datetime | None:
        """When it stops being current; None where a price doesn't age."""
        return self.observed_at + self.ttl if self.observed_at is not None and self.ttl is not None else None

    @property
    def shown_age(self) -> str:
        """``12d``, ``3h``, ``5m``, or the origin where a price has no age."""
        return shown_age(self.age) if self.age is not None else self.origin.value


def holds_price(
    offer: Offer,
    book: PriceBook,
    now: datetime,
    configured_rate: Money | None = None,
    *,
    provider_type: str = "",
) -> Priced:
    """The price of ``offer`` at ``now``.

    Args:
        offer: what would be launched; an interruptible one gets the spot price.
        book: rows are looked up by the offer's provider name and by ``provider_type``.
        now: the domain's time, for ages.
        configured_rate: ``rateUSDPerHour`` of own hardware; None or zero means it was not set. Not looked at for rented capacity.
        provider_type: the plugin's type name, where the project calls the instance otherwise.
    """
    row = book.row_for(offer, provider_type)
    storage = offer.storage_usd_per_gib_month
    if storage is None and row is not None:
        storage = row.storage
    if storage is None and offer.is_own_hardware:
        storage = ZERO
    found = _compute_price(offer, row, configured_rate)
    age = max(now - found.observed_at, timedelta(0)) if found.observed_at is not None else None
    return replace(
        found,
        age=age,
        is_old=age is not None and found.ttl is not None and age > found.ttl,
        storage_usd_per_gib_month=storage,
        stopped_usd_per_hour=row.stopped if row is not None else None,
    )


def _compute_price(offer: Offer, row: PriceRow | None, configured_rate: Money | None) -> Priced:
    """The order of sources; ages and storage are added by the caller."""
    quote = offer.quote
    if offer.is_own_hardware and configured_rate:
        return Priced(rate=configured_rate, origin=Origin.CONFIGURED, source="project settings")
    if quote is not None and quote.rate_usd_per_hour.micro > 0:
        return Priced(
            rate=quote.rate_usd_per_hour,
            origin=Origin.QUOTED,
            source=quote.source,
            observed_at=quote.observed_at,
            ttl=QUOTE_TTL,
        )
    if row is not None and (rate := row.compute_rate(offer.is_interruptible)) is not None:
        return Priced(rate=rate, origin=Origin.BOOK, source=row.source, observed_at=row.observed_at, ttl=row.ttl)
    if offer.is_own_hardware:
        return Priced(rate=ZERO, origin=Origin.FREE, source="own hardware")
    return Priced(rate=None, origin=Origin.UNKNOWN, source="")


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedCandidate:
    """A candidate with the price it was given."""

    candidate: Candidate
    priced: Priced


def priced_candidate(
    offer: Offer,
    priced: Priced,
    *,
    startup: DurationBand | None = None,
    tools: frozenset[str] | None = None,
    egress_policies: frozenset[str] | None = None,
) -> PricedCandidate:
    """An offer ready to be matched and ranked; ``startup`` None takes the offer's priors."""
    made = candidate(offer, priced.rate, tools=tools, egress_policies=egress_policies)
    if startup is not None:
        made = replace(made, startup_p50=startup.p50, startup_p90=startup.p90)
    return PricedCandidate(candidate=made, priced=priced)


def nearest_priced(offer: Offer, others: Iterable[PricedCandidate], limit: int = 3) -> tuple[PricedCandidate, ...]:
    """Priced offers most like one without a price: same accelerator and count first, then same region class, then cheapest.

    A machine without an accelerator is never like one that has some.
    """
    has_cards = offer.accelerator is not None
    alike = (one for one in others if (one.candidate.offer.accelerator is not None) is has_cards)
    known = [one for one in alike if one.priced.rate is not None and one.candidate.offer.key != offer.key]
    return tuple(sorted(known, key=lambda one: _distance(offer, one))[:limit])


def shown_age(age: timedelta) -> str:
    """``131d``, ``5h``, ``12m``, ``now``."""
    if age >= timedelta(days=1):
        return f"{age.days}d"
    if age < timedelta(minutes=1):
        return "now"
    unit = timedelta(hours=1) if age >= timedelta(hours=1) else timedelta(minutes=1)
    return format_duration(age // unit * unit)


def _distance(offer: Offer, one: PricedCandidate) -> tuple[object, ...]:
    other = one.candidate.offer
    family = offer.accelerator.family if offer.accelerator is not None else ""
    other_family = other.accelerator.family if other.accelerator is not None else ""
    sizes: Sequence[int] = (abs(other.gpu_count - offer.gpu_count), abs(other.vcpu_milli - offer.vcpu_milli))
    rate = one.priced.rate.micro if one.priced.rate is not None else 0
    return (
        family != other_family,
        other.is_interruptible != offer.is_interruptible,
        *sizes,
        other.region_class != offer.region_class,
        rate,
        other.key,
    )
