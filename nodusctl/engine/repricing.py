"""Binding a plan to its prices: each is asked again before anything is created (seed: never placed above rate plus 10 %).

The first offer of an object is the one its price was printed for, so it decides. One further down that left its ceiling is only taken out
of what this apply may fall back to, which is said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction

from nodusctl.base.diagnostics import Diagnostic, error, note
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.money import Money
from nodusctl.engine.current_rates import NoPrice
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.changes import ChangeClass
from nodusctl.plan.plan import Plan
from nodusctl.state.terms import Terms

RateOf = Callable[[Terms, datetime], Money | None]
"""The rate that holds now for some terms; None where it can't be asked (then the printed one stands)."""
AskedRate = Callable[[Terms, datetime], Money | NoPrice | None]
"""The same, and NoPrice where it is sold for nobody knows how much."""
_AGAIN = "Make a new plan at today's prices:\n  nodusctl plan -o FILE"


@dataclass
class _Said:
    """What one re-pricing has come to: a builder's, of one call."""

    notes: list[Diagnostic] = field(default_factory=list)
    refusals: list[Diagnostic] = field(default_factory=list)


def reprice(plan: Plan, rate_of: AskedRate, now: datetime) -> tuple[Plan, tuple[Diagnostic, ...]]:
    """The plan at today's rates, and what to say about those that moved. UserError (12) above a ceiling, before any create."""
    said = _Said()
    blocked = {reason.address for reason in plan.reasons}
    said.refusals += [_never_priced(action) for action in plan.actions if lacks_offers(action) and action.address not in blocked]
    actions = tuple(_repriced(action, rate_of, now, said) for action in plan.actions)
    if said.refusals:
        raise UserError(*said.refusals, exit_code=ExitCode.PRICE)
    # One offering may be an offer in several places, at one price.
    return replace(plan, actions=actions), tuple(dict.fromkeys(said.notes))


def _repriced(action: Action, rate_of: AskedRate, now: datetime, said: _Said) -> Action:
    kept: list[Terms] = []
    for index, one in enumerate(action.terms):
        rate = rate_of(one, now)
        if rate is None or rate == one.rate_usd_per_hour:
            kept.append(one)
        elif isinstance(rate, Money) and rate <= one.ceiling_usd_per_hour:
            said.notes.append(_moved(action, one, rate))
            kept.append(replace(one, rate_usd_per_hour=rate))
        elif index == 0:
            said.refusals.append(_refusal(action, one, rate))
        else:
            said.notes.append(_left_out(action, one, rate))
    return replace(action, terms=tuple(kept))


def lacks_offers(action: Action) -> bool:
    """True where applying it would start a machine, now or later, and no offer was reviewed: the plan was made offline."""
    starts = action.verb is Verb.CREATE or action.change_class in {ChangeClass.STARTS, ChangeClass.RESTARTS, ChangeClass.REPLACES}
    return action.address.kind == "workspace" and action.spec is not None and starts and not action.terms


def _never_priced(action: Action) -> Diagnostic:
    detail = f"{action.address} was planned offline, so the plan has no offer and no price for it. Nothing was created."
    return error("PriceUnknown", "The plan has no price.", detail, _AGAIN, address=str(action.address))


def _moved(action: Action, terms: Terms, rate: Money) -> Diagnostic:
    detail = f"{terms.offering}: {terms.rate_usd_per_hour.shown}/h is {rate.shown}/h now ({_percent(terms, rate)}), within the ceiling."
    return note("PriceMoved", "A price moved within what the plan allows.", detail, address=str(action.address))


def _left_out(action: Action, terms: Terms, rate: Money | NoPrice) -> Diagnostic:
    detail = f"{_now(terms, rate)} It is not fallen back to."
    return note("PriceMoved", "An offer further down the plan is left out for its price.", detail, address=str(action.address))


def _refusal(action: Action, terms: Terms, rate: Money | NoPrice) -> Diagnostic:
    if isinstance(rate, NoPrice):
        detail = f"{_now(terms, rate)} Nothing was created."
        return error("PriceUnknown", "A price of the plan is not known any more.", detail, _AGAIN, address=str(action.address))
    detail = f"{_now(terms, rate)} Nothing was created."
    return error("PriceMoved", "A price is above what the plan allows.", detail, _AGAIN, address=str(action.address))


def _now(terms: Terms, rate: Money | NoPrice) -> str:
    planned = f"{terms.offering}: {terms.rate_usd_per_hour.shown}/h in the plan"
    if isinstance(rate, NoPrice):
        return f"{planned}, and neither its provider nor the price book has a price for it now."
    return f"{planned}, {rate.shown}/h now ({_percent(terms, rate)}); the plan allows up to {terms.ceiling_usd_per_hour.shown}/h."


def _percent(terms: Terms, rate: Money) -> str:
    if not terms.rate_usd_per_hour:
        return "it was free"
    change = Fraction(rate.micro - terms.rate_usd_per_hour.micro, terms.rate_usd_per_hour.micro) * 1000
    tenths = round(change)
    return f"{'+' if tenths >= 0 else '-'}{abs(tenths) // 10}.{abs(tenths) % 10} %"
