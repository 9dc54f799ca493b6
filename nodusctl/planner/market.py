"""Everything on offer, priced once a plan and asked many times.

A thousand alike Workspaces ask one question; so matching and ranking are remembered by what was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from nodusctl.base.money import Money
from nodusctl.placement.candidates import Candidate
from nodusctl.placement.explain import Explanation, explanation
from nodusctl.placement.funnel import Matching, match
from nodusctl.placement.rank import Ranked, rank
from nodusctl.placement.request import CapacityRequest
from nodusctl.planner.world import Market, World
from nodusctl.pricing.bands import DurationBand, duration_band
from nodusctl.pricing.holds import POOL_SOURCE, Origin, Priced, PricedCandidate, holds_price, nearest_priced, priced_candidate
from nodusctl.provider.contract import Description, SelfStop
from nodusctl.provider.offers import Offer
from nodusctl.state.terms import Terms, ceiling

UnitSets = tuple[tuple[str, ...], ...]
"""Sets of exclusive units by their ids, in the order they may be tried; empty where an offer has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one request met. ``ranked`` holds the offers with a price, best first; ``unpriced`` those that fit and have none."""

    matching: Matching
    ranked: tuple[Ranked, ...]
    unpriced: tuple[Ranked, ...]
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class Marketplace:
    """Priced offers of all providers that answered. Its memory is a builder's, of one plan."""

    candidates: tuple[PricedCandidate, ...]
    bands: Mapping[str, DurationBand]
    descriptions: Mapping[str, Description]
    book_version: str
    _memory: dict[tuple[CapacityRequest, bool, Money | None], Found] = field(default_factory=dict, compare=False, repr=False)
    _terms: dict[tuple[str, UnitSets, Money | None], Terms] = field(default_factory=dict, compare=False, repr=False)
    _prices: dict[Money | None, dict[str, Priced]] = field(default_factory=dict, compare=False, repr=False)
    _by_rate: dict[Money | None, tuple[PricedCandidate, ...]] = field(default_factory=dict, compare=False, repr=False)

    def find(self, request: CapacityRequest, *, needs_own_image: bool = False, pool_rate: Money | None = None) -> Found:
        """Match and rank. ``pool_rate`` is what a Pool says an hour of its own hardware costs."""
        question = (request, needs_own_image, pool_rate)
        if question not in self._memory:
            self._memory[question] = self._found(request, needs_own_image, pool_rate)
        return self._memory[question]

    def priced(self, offer_key: str, pool_rate: Money | None = None) -> Priced:
        """The price of one offer by its key."""
        if pool_rate not in self._prices:
            self._prices[pool_rate] = {one.candidate.offer.key: one.priced for one in self._at(pool_rate)}
        return self._prices[pool_rate][offer_key]

    def terms(self, offer: Offer, unit_sets: UnitSets, pool_rate: Money | None) -> Terms:
        """One offer as it is approved, with the sets of exclusive units to try; ValueError for one without a price."""
        asked = (offer.key, unit_sets, pool_rate)
        if asked not in self._terms:
            self._terms[asked] = self._made_terms(offer, unit_sets, self.priced(offer.key, pool_rate))
        return self._terms[asked]

    def nearest(self, offer: Offer) -> tuple[PricedCandidate, ...]:
        """Priced offers most like one without a price."""
        return nearest_priced(offer, self.candidates)

    def takes_own_images(self) -> bool:
        """True where some provider that answered runs an image of one's own."""
        return any(description.takes_own_images for description in self.descriptions.values())

    def _made_terms(self, offer: Offer, unit_sets: UnitSets, priced: Priced) -> Terms:
        if priced.rate is None:
            raise ValueError(f"offer {offer.key} has no price and can't be approved")
        band = self.bands[offer.key]
        return Terms(
            offer_key=offer.key,
            offering=offer.id,
            provider=offer.provider,
            instance_type=offer.instance_type,
            region=offer.region,
            zone=offer.zone,
            location=offer.location,
            region_class=offer.region_class,
            is_interruptible=offer.is_interruptible,
            is_own_hardware=offer.is_own_hardware,
            unit_ids=unit_sets[0] if unit_sets else (),
            spare_unit_ids=unit_sets[1:],
            rate_usd_per_hour=priced.rate,
            ceiling_usd_per_hour=ceiling(priced.rate),
            price_origin=priced.origin.value,
            price_source=priced.source,
            price_observed_at=priced.observed_at,
            price_ttl=priced.ttl,
            book_version=self.book_version,
            increment_seconds=offer.increment_seconds,
            minimum_seconds=offer.minimum_seconds,
            stop_bound=self.descriptions[offer.provider].stop_bound,
            startup_p50=band.p50,
            startup_p90=band.p90,
            account=self.descriptions[offer.provider].account,
            storage_usd_per_gib_month=priced.storage_usd_per_gib_month,
            edge_ends_billing=self.descriptions[offer.provider].self_stop is not SelfStop.KEEPS_BILLING,
        )

    def _found(self, request: CapacityRequest, needs_own_image: bool, pool_rate: Money | None) -> Found:
        candidates = [
            one.candidate
            for one in self._at(pool_rate)
            if not needs_own_image or self.descriptions[one.candidate.offer.provider].takes_own_images
        ]
        matching = match(request, candidates)
        ranked = rank(request, matching.fitting)
        return Found(
            matching=matching,
            ranked=tuple(one for one in ranked if one.candidate.rate is not None),
            unpriced=tuple(one for one in ranked if one.candidate.rate is None),
            explanation=explanation(request, candidates, ranked),
        )

    def _at(self, pool_rate: Money | None) -> tuple[PricedCandidate, ...]:
        if pool_rate is None:
            return self.candidates
        if pool_rate not in self._by_rate:
            self._by_rate[pool_rate] = tuple(_at_pool_rate(one, pool_rate) for one in self.candidates)
        return self._by_rate[pool_rate]


def marketplace(world: World) -> Marketplace:
    """Price every offer of the World."""
    bands: dict[str, DurationBand] = {}
    priced: list[PricedCandidate] = []
    for market in world.markets:
        for offer in market.offers:
            bands[offer.key] = duration_band(world.startups.get((offer.provider, offer.id), ()), offer.startup_p50, offer.startup_p90)
            priced.append(_priced(offer, market, world, bands[offer.key]))
    descriptions = {market.instance: market.description for market in world.markets if market.description is not None}
    return Marketplace(tuple(priced), bands, descriptions, world.book.version)


def served_tools(description: Description) -> frozenset[str]:
    """Tools a provider's machines serve; VSCode on the desktop comes over SSH and needs nothing more on the machine."""
    return description.tools | ({"VSCode"} if "SSH" in description.tools else frozenset())


def _priced(offer: Offer, market: Market, world: World, band: DurationBand) -> PricedCandidate:
    description = market.description
    provider_type = description.type if description is not None else ""
    price = holds_price(offer, world.book, world.now, market.configured_rate, provider_type=provider_type)
    made = priced_candidate(
        offer,
        price,
        tools=served_tools(description) if description is not None else None,
        egress_policies=description.egress_policies if description is not None else None,
    )
    return replace(made, candidate=replace(made.candidate, startup_p50=band.p50, startup_p90=band.p90))


def _at_pool_rate(one: PricedCandidate, rate: Money) -> PricedCandidate:
    if not one.candidate.offer.is_own_hardware:
        return one
    configured: Candidate = replace(one.candidate, rate=rate)
    price = _pool_price(one.priced, rate)
    return PricedCandidate(candidate=configured, priced=price)


def _pool_price(priced: Priced, rate: Money) -> Priced:
    """A Pool's own rate wins over the provider's setting: it is nearer to the hosts it speaks of."""
    return replace(priced, rate=rate, origin=Origin.CONFIGURED, source=POOL_SOURCE, observed_at=None, age=None, ttl=None, is_old=False)
