"""Caps, Budgets, price ages and the project's own limits, and the three columns of the cost table."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from support.planning import LAB, NOW, OFFERS, WS, applied, codes, document, market, plan, running, with_standing, workspace

from nodusctl.base.exits import ExitCode
from nodusctl.base.money import Money
from nodusctl.ledger.entries import AVAILABLE, Entry, EntryKind, Posting, charged
from nodusctl.ledger.room import Tally
from nodusctl.planner.world import Policy


def usd(text: str) -> Money:
    return Money.parse(text)


def capture(amount: str, uid: str, days_ago: int = 0) -> Entry:
    return Entry(
        id=f"e{days_ago}",
        kind=EntryKind.CAPTURE,
        time=NOW - timedelta(days=days_ago),
        object_uid=uid,
        attempt_uid="a1",
        postings=(Posting(AVAILABLE, -usd(amount)), Posting(charged("a1"), usd(amount))),
    )


def test_a_cap_bounds_all_three_columns() -> None:
    line = next(one for one in plan(WS).costs if one.address == LAB)
    assert line.p90_usd == usd("5.00") and line.at_most_usd == usd("5.00") and line.p50_usd is not None
    assert line.p50_usd <= usd("5.00") and line.has_limit and line.horizon == "until the cap"
    assert (line.price_source, line.price_origin, line.price_age) == ("world", "quoted", "1h")
    assert line.estimate["placementPreview"]["offering"] == "cpu-4c-16g-us"


def test_without_cap_and_window_there_is_no_limit_and_the_total_says_so() -> None:
    made = plan(workspace("open"), WS)
    assert made.totals is not None and not made.totals.has_limit


def test_a_cap_below_one_boot_is_refused_at_plan() -> None:
    made = plan(workspace(spec='ephemeral: true, maxCostUSD: "0.000001"'))
    assert codes(made) == ["CapTooSmall"] and made.reasons[0].amounts["remaining"] == "0.000001"


def test_what_was_charged_is_not_left_under_the_cap() -> None:
    snapshot = with_standing(running(applied(WS), LAB), LAB, charged_usd=usd("4.00"))
    line = next(one for one in plan(WS.replace("5.00", "6.00"), snapshot=snapshot).costs if one.address == LAB)
    assert line.at_most_usd == usd("2.00")


def test_a_new_cap_must_hold_what_is_charged_and_held() -> None:
    text = 'ephemeral: true, maxCostUSD: "%s"'
    snapshot = with_standing(running(applied(workspace()), LAB), LAB, charged_usd=usd("1.00"), held_usd=usd("0.50"))
    assert codes(plan(workspace(spec=text % "1.49"), snapshot=snapshot)) == ["Invalid"]
    assert codes(plan(workspace(spec=text % "1.50"), snapshot=snapshot)) == []


def test_holds_of_one_plan_must_fit_a_block_budget_together() -> None:
    budget = document("Budget", "team", 'limitUSD: "3.00"')
    a, b = workspace("a"), workspace("b")
    made = plan(budget, a, b)
    assert codes(made) == ["BudgetExceeded"]
    assert made.reasons[0].amounts == {"needed": "3.206666", "remaining": "3.00", "limit": "3.00"}
    assert codes(plan(budget, a)) == []


def test_a_budget_counts_this_month_only_and_only_what_its_selector_covers() -> None:
    scoped = document("Budget", "team", 'limitUSD: "3.00", scope: {selector: {matchLabels: {team: vision}}}')
    snapshot = applied(workspace("old", metadata="labels: {team: vision}"))
    (old,) = snapshot
    new = workspace("new", metadata="labels: {team: vision}")
    texts = (scoped, workspace("old", metadata="labels: {team: vision}"), new)
    assert codes(plan(*texts, snapshot=snapshot, tally=Tally().post((capture("2.00", old.record.uid),)))) == ["BudgetExceeded"]
    assert codes(plan(*texts, snapshot=snapshot, tally=Tally().post((capture("2.00", old.record.uid, days_ago=40),)))) == []
    assert codes(plan(scoped, texts[1], workspace("new"), snapshot=snapshot, tally=Tally().post((capture("2.00", old.record.uid),)))) == []


def test_a_notify_budget_stops_nothing() -> None:
    assert codes(plan(document("Budget", "team", 'limitUSD: "0.01", action: Notify'), workspace())) == []


def test_an_old_price_is_a_warning_and_with_a_policy_a_reason() -> None:
    old = [replace(one, quote=replace(one.quote, observed_at=NOW - timedelta(days=3))) for one in OFFERS if one.quote]
    made = plan(workspace(), markets=(market(*old),))
    assert codes(made) == [] and "PriceOld" in {code for code, _ in made.costs[0].warnings}
    strict = plan(workspace(), markets=(market(*old),), policy=Policy(max_price_age=timedelta(days=1)))
    assert codes(strict) == ["PriceStale"] and strict.exit_code(is_detailed=False) is ExitCode.BLOCKED


def test_the_projects_own_limits_end_a_plan_with_their_own_code() -> None:
    limits = Policy(max_monthly_usd=usd("100.00"), max_increase_usd=usd("50.00"))
    made = plan(workspace(), policy=limits)
    assert codes(made) == ["PolicyFailed", "PolicyFailed"]
    assert made.exit_code(is_detailed=True) is ExitCode.POLICY
    assert made.reasons[0].amounts == {"monthly": "146.00", "increase": "146.00"}


def test_own_hardware_without_a_rate_is_free_and_says_so() -> None:
    mine = replace(OFFERS[0], is_own_hardware=True, quote=None)
    (line,) = plan(workspace(), markets=(market(mine),)).costs
    assert line.rate_usd_per_hour == usd("0") and "FreeCapacity" in {code for code, _ in line.warnings}


def test_a_pools_rate_wins_over_the_providers() -> None:
    mine = replace(OFFERS[0], is_own_hardware=True, quote=None)
    pool = document("Pool", "desk", 'providers: [sim], rateUSDPerHour: "0.07"')
    made = plan(pool, workspace(spec="ephemeral: true, placement: {pool: desk}"), markets=(market(mine),))
    line = next(one for one in made.costs if one.address == LAB)
    assert str(line.rate_usd_per_hour) == "0.07" and line.price_origin == "configured"
