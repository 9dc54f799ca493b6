"""What terms would cost if they were launched now.

Each provider is asked once, and the same rule as in a plan decides which price holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import Enum

from nodusctl.base.exits import UserError
from nodusctl.base.money import Money
from nodusctl.planner.world import Market
from nodusctl.ports.prices import PriceSource
from nodusctl.ports.providers import ProviderSet
from nodusctl.pricing.holds import POOL_SOURCE, holds_price
from nodusctl.provider.offers import Offer, OfferQuery
from nodusctl.provider.replies import Done
from nodusctl.state.terms import Terms


class NoPrice(Enum):
    """An offer that is on sale, and neither its provider nor the price book says for how much."""

    KNOWN_TO_NOBODY = "known-to-nobody"


class CurrentRates:
    """A ``RateOf`` over the project's providers. ``configured`` are rates of own hardware by instance."""

    def __init__(self, providers: ProviderSet, prices: PriceSource, configured: Mapping[str, Money]) -> None:
        self._providers, self._prices, self._configured = providers, prices, configured
        self._offers: dict[str, Mapping[str, Offer]] = {}

    def learn(self, markets: Iterable[Market]) -> None:
        """Take what providers answered a moment ago instead of asking them again."""
        for one in markets:
            self._offers.setdefault(one.instance, {offer.key: offer for offer in one.offers})

    def __call__(self, terms: Terms, now: datetime) -> Money | None:
        """The rate now; None where the provider can't be asked or no longer sells this, and where all there is is the same old price."""
        found = self.today(terms, now)
        return found if isinstance(found, Money) else None

    def today(self, terms: Terms, now: datetime) -> Money | NoPrice | None:
        """The same, and ``NoPrice`` where it is sold and no price is known for it any more."""
        if terms.price_source == POOL_SOURCE:
            return terms.rate_usd_per_hour
        offer = self._offers_of(terms.provider).get(terms.offer_key)
        if offer is None:
            return None
        type_name = self._providers.get(terms.provider).description.type
        configured = self._configured.get(terms.provider)
        price = holds_price(offer, self._prices.book(), now, configured, provider_type=type_name)
        if price.rate is None:
            return NoPrice.KNOWN_TO_NOBODY
        return None if price.is_old and price.rate == terms.rate_usd_per_hour else price.rate

    def _offers_of(self, instance: str) -> Mapping[str, Offer]:
        if instance not in self._offers:
            try:
                reply = self._providers.get(instance).calls.offers(OfferQuery())
            except UserError:
                return {}
            self._offers[instance] = {offer.key: offer for offer in reply.value} if isinstance(reply, Done) else {}
        return self._offers[instance]
