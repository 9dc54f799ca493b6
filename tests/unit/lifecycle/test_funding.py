"""When a Workspace counts as paid for, how a money stop saves what is on the machine itself, and what old prices may start."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support import situations as given
from support.situations import NOW, situation

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.money import Money
from nodusctl.ledger import build
from nodusctl.lifecycle.edges import edge_of, target_of
from nodusctl.lifecycle.funding import held_until, is_past_saving, refused_money, saving_lead
from nodusctl.lifecycle.next_step import next_step
from nodusctl.lifecycle.price_age import needs_prices, stale_words
from nodusctl.lifecycle.renewing import next_renewal
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import AskPrices, Mark, MarkKind, Renew
from nodusctl.lifecycle.wanted import due_stop
from nodusctl.provider.machines import MachineState
from nodusctl.state.status import ObjectStatus, Phase, SessionStanding, StopReason

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
SUBJECT = build.Subject(object_address="workspace/lab", object_uid=given.LAB_UID, attempt_uid=given.ATTEMPT_UID)
HELD = (build.hold("h", NOW, SUBJECT, Money.parse("1.603333")),)
"""What pays until the edge at 8 h."""


def attempt(edge: timedelta = 8 * HOUR, bound: str = "lease", **changes: Any) -> Attempt:
    return given.launched(ready=True, edge_at=NOW + edge, edge_bound=bound, idle_seconds=3600, **changes)


def running(after: timedelta, made: Attempt, *, outlives: bool = True, **changes: Any) -> Situation:
    now = NOW + after
    return situation(
        Phase.RUNNING,
        made,
        now=now,
        platforms=(given.platform(disk_outlives_machine=outlives),),
        sightings=given.sightings(looked_at=now),
        status={"session": SessionStanding(began_at=NOW, ready_at=NOW)},
        **changes,
    )


def funded(status: ObjectStatus) -> tuple[str, str]:
    (one,) = (condition for condition in status.conditions if condition.type == "Funded")
    return one.status, one.reason


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ("lease", ("True", "Held")),
        ("schedule", ("True", "Held")),
        ("cap", ("False", "MaxCostReached")),
        ("budget", ("False", "BudgetExceeded")),
        ("funds", ("False", "Unfunded")),
    ],
)
def test_an_edge_behind_which_nothing_more_can_be_held_is_not_funded(bound: str, said: tuple[str, str]) -> None:
    assert funded(held_until(ObjectStatus(), NOW + HOUR, bound, NOW)) == said


@pytest.mark.parametrize("reason", ["BudgetExceeded", "CapTooSmall", "InsufficientCredits", "MaxCostReached", "Unfunded"])
def test_a_refusal_for_money_is_not_funded(reason: str) -> None:
    assert funded(refused_money(ObjectStatus(), reason, NOW))[0] == "False"


def test_a_stop_for_another_reason_says_nothing_of_money() -> None:
    assert refused_money(ObjectStatus(), "Owner", NOW).conditions == ()


def test_a_session_whose_home_is_on_the_machine_stops_before_its_money_edge() -> None:
    made = attempt(bound="cap")
    assert due_stop(running(8 * HOUR - 16 * MINUTE, made, outlives=False)) is None
    assert due_stop(running(8 * HOUR - 15 * MINUTE, made, outlives=False)) is StopReason.MAX_COST_REACHED
    assert due_stop(running(8 * HOUR - 15 * MINUTE, made)) is None, "its disk outlives it: saving costs nothing then"


def test_a_short_session_spends_a_quarter_of_itself_on_saving_at_most() -> None:
    made = attempt(edge=20 * MINUTE, bound="budget")
    assert saving_lead(running(MINUTE, made, outlives=False), made) == 5 * MINUTE


def test_no_other_edge_is_anticipated() -> None:
    assert due_stop(running(8 * HOUR - MINUTE, attempt(), outlives=False)) is None


def test_past_its_edge_a_money_stop_saves_only_where_the_machine_no_longer_bills() -> None:
    made = replace(given.stopping(attempt(bound="cap")), stop_reason="MaxCostReached")
    later = running(9 * HOUR, made, outlives=False)
    assert is_past_saving(later, made)
    ended = given.machine(MachineState.STOPPED, ended_at=NOW + 8 * HOUR)
    assert not is_past_saving(replace(later, sightings=given.sightings(ended)), made)
    assert not is_past_saving(running(7 * HOUR, made, outlives=False), made)
    assert not is_past_saving(later, replace(made, stop_reason="Owner")), "its owner wants the home, whatever it costs"


def test_a_lease_that_money_can_not_lengthen_takes_the_money_as_its_bound() -> None:
    """Nothing moves but the reason, so that the stop is told as what it is; and that once."""
    made = running(5 * HOUR, attempt(), entries=HELD, budget_left_usd=Money(0))
    step = next_renewal(made)
    assert isinstance(step, Renew) and step.bound == "budget"
    assert abs(step.until - (NOW + 8 * HOUR)) <= timedelta(seconds=1)
    assert next_renewal(running(5 * HOUR, attempt(bound="budget"), entries=HELD, budget_left_usd=Money(0))) is None


def test_the_nearer_of_budget_and_balance_bounds_a_renewal() -> None:
    made = attempt()
    both = running(5 * HOUR, made, entries=HELD, budget_left_usd=Money.parse("1.00"), funds_left_usd=Money.parse("0.20"))
    target = target_of(both, made)
    assert (target.bound, target.until) == ("funds", NOW + 9 * HOUR)


def test_a_start_whose_hold_is_more_than_the_balance_is_unfunded() -> None:
    made = situation(Phase.PENDING, given.attempt(), home=None, funds_left_usd=Money.parse("1.603332"))
    assert edge_of(made, given.terms()).is_unfunded
    step = next_step(made)
    assert isinstance(step, Mark) and (step.what, step.reason) == (MarkKind.FAIL, "InsufficientCredits")


OLD = given.terms(price_observed_at=NOW - 2 * HOUR, price_ttl=HOUR)
NEW_THEN = given.terms(price_observed_at=NOW - 2 * HOUR, price_ttl=3 * HOUR)


def starting(*, approved_ago: timedelta = timedelta(0), terms: Any = OLD, spec: dict[str, Any] | None = None, **changes: Any) -> Situation:
    record = given.record(approval=given.approval(terms, at=NOW - approved_ago), spec=spec or {})
    return situation(Phase.PENDING, given.attempt(), record=record, **changes)


def test_a_price_past_its_time_is_asked_again_before_the_launch() -> None:
    assert needs_prices(starting()) and isinstance(next_step(starting(home=None)), AskPrices)
    assert not needs_prices(starting(terms=NEW_THEN))
    assert not needs_prices(starting(sightings=given.sightings(rates={})))


def test_an_old_price_nobody_could_refresh_starts_what_was_approved_with_its_age_and_has_a_money_edge() -> None:
    nobody = given.sightings(rates={OLD.offer_key: None})
    assert stale_words(starting(sightings=nobody, spec={"maxCostUSD": "5.00"}), OLD) == ""
    assert stale_words(starting(sightings=nobody, budget_left_usd=Money.parse("9")), OLD) == ""
    assert "no cap or Budget bounds it" in stale_words(starting(sightings=nobody), OLD)
    younger = starting(sightings=nobody, spec={"maxCostUSD": "5.00"}, approved_ago=90 * MINUTE)
    assert "it was younger when it was approved" in stale_words(younger, OLD)


def test_a_price_that_was_asked_again_is_not_old() -> None:
    assert stale_words(starting(sightings=given.sightings(rates={OLD.offer_key: OLD.rate_usd_per_hour})), OLD) == ""


def test_a_start_on_a_price_too_old_fails_and_says_why() -> None:
    step = next_step(starting(home=None, sightings=given.sightings(rates={OLD.offer_key: None})))
    assert isinstance(step, Mark) and (step.what, step.reason) == (MarkKind.FAIL, "PriceStale")
