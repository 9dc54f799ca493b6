"""Prices that are known without asking a provider: what its published list says, with the price book and the project's own rates.

They are for showing beside a difference that stands already, never for deciding anything: nobody asked whether the offer is still there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from nodusctl.base.exits import UserError
from nodusctl.base.money import Money
from nodusctl.engine.current_rates import CurrentRates
from nodusctl.plan.plan import Plan
from nodusctl.planner.world import Market
from nodusctl.ports.prices import PriceSource
from nodusctl.ports.providers import ProviderSet
from nodusctl.provider.offers import Offer
from nodusctl.state.terms import Terms, ceiling


def at_posted_prices(plan: Plan, providers: ProviderSet, prices: PriceSource, configured: Mapping[str, Money], now: datetime) -> Plan:
    """``plan`` with each of its offers at the rate that is posted for it now; where none is, at the rate it has."""
    named = {terms.provider for action in plan.actions for terms in action.terms}
    rates = CurrentRates(providers, prices, configured)
    rates.learn(Market(instance=name, offers=_posted(providers, name)) for name in named)

    def today(terms: Terms) -> Terms:
        rate = rates(terms, now)
        return terms if rate is None else replace(terms, rate_usd_per_hour=rate, ceiling_usd_per_hour=ceiling(rate))

    return replace(plan, actions=tuple(replace(one, terms=tuple(today(terms) for terms in one.terms)) for one in plan.actions))


def _posted(providers: ProviderSet, instance: str) -> tuple[Offer, ...]:
    try:
        price_list = providers.get(instance).price_list
    except UserError:
        return ()
    return price_list.posted() if price_list is not None else ()
