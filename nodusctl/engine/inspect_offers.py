"""``offers``: what every provider sells now, each with the price that holds and how old it is; optionally only what fits a request.

The same pricing and matching as in a plan, so that a cheaper line here can't be a surprise there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from nodusctl.engine.market import ask_markets, configured_rates
from nodusctl.placement.funnel import Funnel, match
from nodusctl.placement.rank import rank
from nodusctl.placement.request import CapacityRequest
from nodusctl.planner.world import Market
from nodusctl.ports.prices import PriceSource
from nodusctl.ports.providers import ProviderSet
from nodusctl.pricing.book import PriceBook
from nodusctl.pricing.holds import PricedCandidate, holds_price, priced_candidate
from nodusctl.resources.project import ProjectFile


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferList:
    """``offers`` best first by the request's profile, or by rate without a request, which has no ``funnel`` either.

    ``silent`` are provider instances that gave no answer, and why.
    """

    offers: tuple[PricedCandidate, ...]
    funnel: Funnel | None
    book_version: str
    silent: tuple[tuple[str, str], ...] = ()


def list_offers(
    request: CapacityRequest | None, *, project: ProjectFile, providers: ProviderSet, prices: PriceSource, now: datetime
) -> OfferList:
    """Ask every provider once. An offer without a price is listed after those with one, as unknown."""
    markets = ask_markets(providers, configured_rates(project))
    book = prices.book()
    priced = {one.candidate.offer.key: one for market in markets for one in _priced(market, book, now)}
    offers, funnel = _chosen(request, priced)
    silent = tuple((market.instance, market.why_not) for market in markets if not market.is_ready)
    return OfferList(offers=offers, funnel=funnel, book_version=book.version, silent=silent)


def _chosen(request: CapacityRequest | None, priced: dict[str, PricedCandidate]) -> tuple[tuple[PricedCandidate, ...], Funnel | None]:
    if request is None:
        return tuple(sorted(priced.values(), key=_by_rate)), None
    matching = match(request, [one.candidate for one in priced.values()])
    ranked = rank(request, matching.fitting)
    return tuple(priced[one.candidate.offer.key] for one in ranked), matching.funnel


def _by_rate(one: PricedCandidate) -> tuple[bool, int, str]:
    rate = one.priced.rate
    return rate is None, rate.micro if rate is not None else 0, one.candidate.offer.key


def _priced(market: Market, book: PriceBook, now: datetime) -> list[PricedCandidate]:
    type_name = market.description.type if market.description is not None else ""
    return [
        priced_candidate(offer, holds_price(offer, book, now, market.configured_rate, provider_type=type_name)) for offer in market.offers
    ]
