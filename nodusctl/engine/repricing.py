"""Binding a plan to its prices: each is asked again before anything is created (seed: never placed above rate plus 10 %)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from fractions import Fraction

from nodusctl.base.diagnostics import Diagnostic, error, note
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.money import Money
from nodusctl.plan.actions import Action
from nodusctl.plan.plan import Plan
from nodusctl.state.terms import Terms

RateOf = Callable[[Terms, datetime], Money | None]
"""The rate that holds now for some terms; None where it can't be asked (then the printed one stands)."""


def reprice(plan: Plan, rate_of: RateOf, now: datetime) -> tuple[Plan, tuple[Diagnostic, ...]]:
    """The plan at today's rates, and what to say about those that moved. UserError (12) above a ceiling, before any create."""
    notes: list[Diagnostic] = []
    above: list[Diagnostic] = []
    actions = tuple(_repriced(action, rate_of, now, notes, above) for action in plan.actions)
    if above:
        raise UserError(*above, exit_code=ExitCode.PRICE)
    return replace(plan, actions=actions), tuple(notes)


def _repriced(action: Action, rate_of: RateOf, now: datetime, notes: list[Diagnostic], above: list[Diagnostic]) -> Action:
    terms: list[Terms] = []
    for index, one in enumerate(action.terms):
        rate = rate_of(one, now)
        if rate is None or rate == one.rate_usd_per_hour:
            terms.append(one)
        elif rate <= one.ceiling_usd_per_hour:
            notes.append(_moved(action, one, rate))
            terms.append(replace(one, rate_usd_per_hour=rate))
        elif index == 0:
            above.append(_above(action, one, rate))
    return replace(action, terms=tuple(terms))


def _moved(action: Action, terms: Terms, rate: Money) -> Diagnostic:
    detail = f"{terms.offering}: {terms.rate_usd_per_hour.shown}/h is {rate.shown}/h now ({_percent(terms, rate)}), within the ceiling."
    return note("PriceMoved", "A price moved within what the plan allows.", detail, address=str(action.address))


def _above(action: Action, terms: Terms, rate: Money) -> Diagnostic:
    detail = (
        f"{terms.offering}: {terms.rate_usd_per_hour.shown}/h in the plan, {rate.shown}/h now ({_percent(terms, rate)}); "
        f"the plan allows up to {terms.ceiling_usd_per_hour.shown}/h. Nothing was created."
    )
    fix = "Make a new plan at today's prices:\n  nodusctl plan -o FILE"
    return error("PriceMoved", "A price is above what the plan allows.", detail, fix, address=str(action.address))


def _percent(terms: Terms, rate: Money) -> str:
    if not terms.rate_usd_per_hour:
        return "it was free"
    change = Fraction(rate.micro - terms.rate_usd_per_hour.micro, terms.rate_usd_per_hour.micro) * 1000
    tenths = round(change)
    return f"{'+' if tenths >= 0 else '-'}{abs(tenths) // 10}.{abs(tenths) % 10} %"
