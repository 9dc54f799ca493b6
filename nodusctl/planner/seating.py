"""Each need meets the market: its offers in order, who gets which exclusive unit, and the Terms a reviewer approves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nodusctl.placement.allocate import Placed, Queued, Seat, Seating, allocate
from nodusctl.placement.rank import Ranked
from nodusctl.planner.market import Found, Marketplace
from nodusctl.planner.needs import Need, Urgency
from nodusctl.pricing.holds import Priced
from nodusctl.state.terms import Terms, ceiling

MOST_OFFERS = 8
"""How many offers one approval lists: enough for every zone of a region, few enough to be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seated:
    """A need with what it met. ``seating`` is None for a need that only wants its price shown, or that met nothing priced."""

    need: Need
    found: Found
    seating: Seating | None

    @property
    def choice(self) -> Ranked | None:
        """The offer the estimate is for: the one that can be had now, else the best."""
        if isinstance(self.seating, (Placed, Queued)):
            return self.seating.choice
        return self.found.ranked[0] if self.found.ranked else None


def seated(needs: Sequence[Need], market: Marketplace) -> tuple[Seated, ...]:
    """Match every need, then seat those that must have a machine, in plan order."""
    found = [market.find(need.request, needs_own_image=need.needs_own_image, pool_rate=need.pool_rate) for need in needs]
    wanting = [(need, one) for need, one in zip(needs, found, strict=True) if need.urgency is Urgency.REQUIRED and one.ranked]
    seats = [Seat(address=str(need.address), ranked=one.ranked, own_names=_own_names(need)) for need, one in wanting]
    answers = dict(zip((seat.address for seat in seats), allocate(seats), strict=True))
    return tuple(Seated(need=need, found=one, seating=answers.get(str(need.address))) for need, one in zip(needs, found, strict=True))


def terms_of(one: Seated, market: Marketplace, book_version: str) -> tuple[Terms, ...]:
    """The offers apply may try, the chosen one first, each at the price printed and the ceiling that follows from it."""
    choice = one.choice
    if choice is None:
        return ()
    rest = [ranked for ranked in one.found.ranked if ranked.key != choice.key]
    units = tuple(unit.id for unit in one.seating.units) if isinstance(one.seating, Placed) else ()
    in_order = [(choice, units), *((ranked, ()) for ranked in rest[: MOST_OFFERS - 1])]
    return tuple(_terms(ranked, unit_ids, market, one.need, book_version) for ranked, unit_ids in in_order)


def _terms(ranked: Ranked, unit_ids: tuple[str, ...], market: Marketplace, need: Need, book_version: str) -> Terms:
    offer = ranked.candidate.offer
    priced: Priced = market.priced(offer.key, need.pool_rate)
    if priced.rate is None:
        raise ValueError(f"offer {offer.key} has no price and can't be approved")
    band = market.bands[offer.key]
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
        unit_ids=unit_ids,
        rate_usd_per_hour=priced.rate,
        ceiling_usd_per_hour=ceiling(priced.rate),
        price_origin=priced.origin.value,
        price_source=priced.source,
        price_observed_at=priced.observed_at,
        book_version=book_version,
        increment_seconds=offer.increment_seconds,
        minimum_seconds=offer.minimum_seconds,
        stop_bound=market.descriptions[offer.provider].stop_bound,
        startup_p50=band.p50,
        startup_p90=band.p90,
    )


def _own_names(need: Need) -> frozenset[str]:
    standing = need.draft.standing
    return frozenset({standing.record.uid, str(standing.record.address)} if standing is not None else ())
