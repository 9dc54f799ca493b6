"""A plan's prices are asked again before anything is created: at or under rate plus 10 %, or not at all."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from support import situations as given
from support.situations import LAB, NOW

from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.money import Money
from nodusctl.engine.current_rates import NoPrice
from nodusctl.engine.repricing import RateOf, reprice
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.plan import AllowFlags, Basis, Plan
from nodusctl.state.terms import Terms

FIRST, SECOND = given.terms(), given.terms("cpu-8c-32g-us", rate="0.40")


def plan(*terms: Terms) -> Plan:
    basis = Basis(project="default", lineage="l", serial=1, state_url="sqlite:///x")
    action = Action(verb=Verb.CREATE, address=LAB, terms=terms or (FIRST, SECOND))
    return Plan(id="p", created_at=NOW, created_by="ada", basis=basis, allow=AllowFlags(max_deletes=0), actions=(action,))


def at(*rates: str | None) -> RateOf:
    """Today's rates of FIRST and SECOND."""
    by_key = dict(zip((FIRST.offer_key, SECOND.offer_key), rates, strict=False))

    def rate_of(terms: Terms, now: datetime) -> Money | None:
        text = by_key.get(terms.offer_key)
        return Money.parse(text) if text is not None else None

    return rate_of


def rates_after(repriced: Plan) -> list[str]:
    return [str(terms.rate_usd_per_hour) for terms in repriced.actions[0].terms]


def test_a_price_that_did_not_move_is_not_spoken_of() -> None:
    assert reprice(plan(), at("0.20", "0.40"), NOW) == (plan(), ())


def test_a_price_at_exactly_rate_plus_ten_percent_goes_on_and_is_said() -> None:
    repriced, (note,) = reprice(plan(FIRST), at("0.22"), NOW)
    assert rates_after(repriced) == ["0.22"]
    assert (note.code, "+10.0 %" in note.detail) == ("PriceMoved", True)


def test_a_micro_dollar_above_the_ceiling_is_refused_with_old_new_and_percent() -> None:
    with pytest.raises(UserError) as refused:
        reprice(plan(FIRST), at("0.220001"), NOW)
    assert refused.value.exit_code is ExitCode.PRICE
    (fault,) = refused.value.diagnostics
    assert "0.20" in fault.detail and "0.220001" in fault.detail and "+10.0 %" in fault.detail
    assert "nodusctl plan" in fault.fix


def test_a_price_that_fell_is_taken_and_its_ceiling_stays_as_reviewed() -> None:
    repriced, _ = reprice(plan(FIRST), at("0.10"), NOW)
    assert rates_after(repriced) == ["0.10"]
    assert repriced.actions[0].terms[0].ceiling_usd_per_hour == FIRST.ceiling_usd_per_hour


def test_a_price_that_cannot_be_asked_stands_as_printed() -> None:
    assert reprice(plan(FIRST), at(None), NOW) == (plan(FIRST), ())


def test_a_fallback_offer_above_its_ceiling_is_left_out_of_the_start_and_that_is_said() -> None:
    repriced, (note,) = reprice(plan(), at("0.20", "0.60"), NOW)
    assert rates_after(repriced) == ["0.20"]
    assert "+50.0 %" in note.detail and "not fallen back to" in note.detail


def test_an_offer_whose_price_is_not_known_any_more_is_refused() -> None:
    with pytest.raises(UserError) as refused:
        reprice(plan(FIRST), lambda terms, now: NoPrice.KNOWN_TO_NOBODY, NOW)
    assert refused.value.exit_code is ExitCode.PRICE
    assert refused.value.diagnostics[0].code == "PriceUnknown"


def test_a_start_that_was_planned_without_offers_has_no_price_to_be_bound_to() -> None:
    unpriced = replace(plan(), actions=(Action(verb=Verb.CREATE, address=LAB, spec={"image": "nodus/workspace-cpu"}),))
    with pytest.raises(UserError) as refused:
        reprice(unpriced, at("0.20", "0.40"), NOW)
    assert (refused.value.exit_code, refused.value.diagnostics[0].code) == (ExitCode.PRICE, "PriceUnknown")


def test_free_capacity_that_costs_something_now_is_refused() -> None:
    free = replace(FIRST, rate_usd_per_hour=Money(0), ceiling_usd_per_hour=Money(0))
    with pytest.raises(UserError) as refused:
        reprice(plan(free), at("0.01"), NOW)
    assert "it was free" in refused.value.diagnostics[0].detail
