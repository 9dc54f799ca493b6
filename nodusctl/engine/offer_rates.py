"""What a machine or disk that nobody planned costs: by the terms it was launched on, else by what its provider offers now.

Each provider is asked once. Where neither knows a price the answer is None, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from nodusctl.base.exits import UserError
from nodusctl.base.money import MICRO, Money
from nodusctl.ports.prices import PriceSource
from nodusctl.ports.providers import ProviderSet
from nodusctl.pricing.charge import at_rate, charge, elapsed_seconds
from nodusctl.pricing.holds import Priced, holds_price
from nodusctl.provider.machines import Disk, Machine
from nodusctl.provider.offers import Offer, OfferQuery
from nodusctl.provider.replies import Done
from nodusctl.state.terms import Terms

_DAY_SECONDS = 24 * 3600
_MONTH_SECONDS = 730 * 3600
_GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """So far, and for each further day; None where unknown. A machine whose billing has ended costs nothing more."""

    cost_usd: Money | None = None
    day_usd: Money | None = None


class OfferRates:
    """Prices of things by what is on offer now. ``configured`` are rates of own hardware by instance."""

    def __init__(self, providers: ProviderSet, prices: PriceSource, configured: Mapping[str, Money]) -> None:
        self._providers, self._prices, self._configured = providers, prices, configured
        self._offers: dict[str, tuple[Offer, ...]] = {}

    def of_machine(self, instance: str, machine: Machine, terms: Terms | None, now: datetime) -> Price:
        """``terms`` are those it was launched on, where this state knows them."""
        rounding: Terms | Offer | None = terms or self._offer_of(instance, machine)
        rate = terms.rate_usd_per_hour if terms is not None else self._rate(instance, rounding, now)
        began = machine.billing_started_at or machine.created_at
        if rounding is None or rate is None or began is None:
            return Price()
        seconds = elapsed_seconds((machine.ended_at or now) - began)
        cost = charge(seconds, rate, rounding.increment_seconds, rounding.minimum_seconds)
        return Price(cost_usd=cost, day_usd=Money(0) if machine.ended_at is not None else at_rate(_DAY_SECONDS, rate))

    def of_disk(self, instance: str, disk: Disk, now: datetime) -> Price:
        """At the storage price of the place it is in."""
        here = (self._priced(instance, offer, now) for offer in self._offers_of(instance) if offer.location == disk.location)
        month = next((one.storage_usd_per_gib_month for one in here if one.storage_usd_per_gib_month is not None), None)
        if month is None:
            return Price()
        a_second = Fraction(month.micro, MICRO) * disk.size_bytes / _GIB / _MONTH_SECONDS
        cost = Money.from_fraction(a_second * elapsed_seconds(now - disk.created_at)) if disk.created_at is not None else None
        return Price(cost_usd=cost, day_usd=Money.from_fraction(a_second * _DAY_SECONDS))

    def _offer_of(self, instance: str, machine: Machine) -> Offer | None:
        wanted = (machine.offer_id, machine.zone, machine.is_interruptible)
        return next((one for one in self._offers_of(instance) if (one.id, one.zone, one.is_interruptible) == wanted), None)

    def _rate(self, instance: str, offer: Terms | Offer | None, now: datetime) -> Money | None:
        return self._priced(instance, offer, now).rate if isinstance(offer, Offer) else None

    def _priced(self, instance: str, offer: Offer, now: datetime) -> Priced:
        type_name = self._providers.get(instance).description.type
        return holds_price(offer, self._prices.book(), now, self._configured.get(instance), provider_type=type_name)

    def _offers_of(self, instance: str) -> tuple[Offer, ...]:
        if instance not in self._offers:
            try:
                reply = self._providers.get(instance).calls.offers(OfferQuery())
            except UserError:
                return ()
            self._offers[instance] = reply.value if isinstance(reply, Done) else ()
        return self._offers[instance]
