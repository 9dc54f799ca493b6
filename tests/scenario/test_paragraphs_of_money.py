"""The paragraphs of docs/money.md, each by name, from a command to the ledger. Budgets and grants have a module of their own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.world import HOME_YAML, LAB, START, World, outcome, workspace_yaml

from nodusctl.attempts.events import HomeNotSaved, HomeSaved, Remarked
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.money import Money, total
from nodusctl.base.timestamps import format_time
from nodusctl.engine.inspect_receipts import attempts_of, receipts_among
from nodusctl.engine.inspect_status import workspace_status
from nodusctl.ledger.entries import EntryKind, charged
from nodusctl.lifecycle.money import charge_of
from nodusctl.pricing.charge import at_rate, elapsed_seconds
from nodusctl.state.status import Phase

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
CENTS_20 = Money.parse("0.20")
KEEPS_BILLING = "billing: {selfStop: keeps-billing, endsAt: terminated}\n"
LAST_OF_MARCH = datetime(2026, 3, 31, 22, 0, tzinfo=UTC)
APRIL = datetime(2026, 4, 1, tzinfo=UTC)


def lab(**spec: Any) -> str:
    return workspace_yaml(volume="", **{"ephemeral": True, "idleTimeout": "0s", **spec})


def running(world: World, *documents: str) -> World:
    world.write(*(documents or (lab(),)))
    assert world.apply().exit_code is ExitCode.DONE
    return world


def kinds(world: World) -> list[EntryKind]:
    return [entry.kind for entry in world.entries()]


def captures_dated(world: World, before: datetime) -> Money:
    uid = world.attempt().uid
    return total(one.moved(charged(uid)) for one in world.entries() if one.kind is EntryKind.CAPTURE and one.time < before)


# Estimate and price book


def test_estimate_shows_what_it_costs_at_the_median_at_the_ninetieth_and_at_most(world: World) -> None:
    line = world.write(lab(maxCostUSD="5.00")).plan().costs[0]
    assert line.p50_usd is not None and line.p90_usd is not None and line.at_most_usd is not None
    assert line.p50_usd <= line.p90_usd <= line.at_most_usd == Money.parse("5.00")
    assert line.hold_usd == Money.parse("1.603333")


def test_estimate_of_what_nothing_ends_says_no_limit(world: World) -> None:
    plan = world.write(lab()).plan()
    assert not plan.costs[0].has_limit and plan.totals is not None and not plan.totals.has_limit


def test_price_book_an_unknown_price_blocks_and_never_counts_as_zero(tmp_path: Path) -> None:
    offer = "{id: bare-4c-us, instanceType: sim.bare, zones: [us-1a], cpu: 4, memory: 16Gi}"
    world = World(tmp_path / "project", world=f"offers: [{offer}]\n")
    plan = world.write(lab()).plan()
    assert [reason.code for reason in plan.reasons] == ["PriceUnknown"]
    assert plan.totals is None or plan.totals.is_at_least


# Binding a plan to its prices


def test_binding_a_plan_goes_on_at_ten_percent_more_and_stops_above_it(world: World) -> None:
    world.write(lab(placement={"offerings": ["cpu-4c-16g-us"]}))
    plan = world.plan()
    world.fault("price", "price 0.220001", "cpu-4c-16g-us")
    with pytest.raises(UserError) as refused:
        world.apply(plan, is_saved_plan=True)
    assert refused.value.exit_code is ExitCode.PRICE and world.count("create") == 0
    world.heal()
    world.fault("price", "price 0.22", "cpu-4c-16g-us")
    assert world.apply(plan, is_saved_plan=True).exit_code is ExitCode.DONE


def test_binding_a_plan_a_start_long_after_it_asks_the_price_again_and_stays_under_the_ceiling(world: World) -> None:
    running(world, lab(placement={"offerings": ["cpu-4c-16g-us"]}))
    world.stop()
    world.pass_time(timedelta(days=2))
    world.fault("price", "price 0.30", "cpu-4c-16g-us")
    assert outcome(world.start()).code == "PriceMoved"
    assert world.count("create") == 1
    world.heal()
    world.fault("price", "price 0.21", "cpu-4c-16g-us")
    assert world.start().exit_code is ExitCode.DONE
    terms = world.attempt().terms
    assert terms is not None and terms.rate_usd_per_hour == Money.parse("0.21")


def test_binding_a_plan_an_old_price_nobody_can_refresh_starts_only_what_money_ends(world: World) -> None:
    """The plan printed no age, for then the price was new: now it is old, and the start is refused."""
    running(world, lab(maxCostUSD="5.00"))
    world.stop()
    world.pass_time(timedelta(days=2))
    nobody = world.outside(rate_of=lambda terms, now: None)
    from nodusctl.engine import verbs
    from nodusctl.engine.applying import ApplySettings
    from nodusctl.executor.runs import Interrupts

    result = verbs.start(LAB, outside=nobody, command="nodusctl start", settings=ApplySettings(), interrupts=Interrupts())
    assert outcome(result).code == "PriceStale"
    assert world.count("create") == 1


# Ledger: holds, captures, the charge of an Attempt


def test_ledger_every_entry_sums_to_zero_and_a_hold_is_there_before_the_call(world: World) -> None:
    world.fault("create", "hang-before 0s", times=1)
    running(world)
    assert kinds(world)[0] is EntryKind.HOLD
    assert all(sum(posting.amount.micro for posting in entry.postings) == 0 for entry in world.entries())


def test_hold_a_renewal_captures_the_time_used_and_posts_the_next_hold_before_the_machine_is_told(world: World) -> None:
    running(world)
    world.pass_time(5 * HOUR)
    world.tick()
    attempt = world.attempt()
    assert attempt.edge_at is not None and attempt.edge_at > START + 12 * HOUR
    assert kinds(world) == [EntryKind.HOLD, EntryKind.CAPTURE, EntryKind.RENEW]
    captured, renewed = world.entries()[1:]
    assert captured.moved(charged(attempt.uid)) == at_rate(elapsed_seconds(captured.time - START), CENTS_20)
    assert captured.time <= renewed.time
    assert world.held() + world.charged() >= at_rate(elapsed_seconds(attempt.edge_at - START), CENTS_20), "paid for until the edge"
    world.stop()
    assert world.charged() == charge_of(world.attempt(), world.attempt().timings.finished_at or START)
    world.check_quiet()


@pytest.mark.parametrize("has_ticker", [True, False])
def test_hold_a_month_boundary_is_captured_in_its_month_whether_anybody_ticks_or_not(tmp_path: Path, has_ticker: bool) -> None:
    world = running(World(tmp_path / "project", now=LAST_OF_MARCH))
    if has_ticker:
        world.tick(times=8, every=30 * MINUTE)
    else:
        world.pass_time(3 * HOUR + 30 * MINUTE)
    world.stop()
    attempt = world.attempt()
    began, ended = attempt.timings.billing_started_at, attempt.timings.finished_at
    assert began is not None and ended is not None and ended > APRIL + HOUR
    assert captures_dated(world, APRIL) == at_rate(elapsed_seconds(APRIL - began), CENTS_20)
    assert world.charged() == charge_of(attempt, ended)
    assert kinds(world).count(EntryKind.RENEW) == 0, "nothing more had to be held"
    world.check_quiet()


def test_hold_a_monthly_budget_counts_only_what_is_dated_in_its_month(tmp_path: Path) -> None:
    from nodusctl.engine.budget_report import budget_report

    budget = 'apiVersion: nodus.dev/v1\nkind: Budget\nmetadata: {name: team}\nspec: {limitUSD: "5.00"}\n'
    world = running(World(tmp_path / "project", now=LAST_OF_MARCH), budget, lab())
    world.pass_time(4 * HOUR)
    world.stop()
    (line,) = budget_report(journal=world.state.journal, project="default", now=world.clock.now()).budgets
    assert Money.parse(line.status["spentUSD"]) == world.charged() - captures_dated(world, APRIL) > Money(0)


def test_charge_of_an_attempt_is_rounded_up_once_to_the_increment_and_the_minimum(tmp_path: Path) -> None:
    world = running(World(tmp_path / "project", world="billing: {increment: 1h, minimum: 1h}\n"))
    world.pass_time(90 * MINUTE)
    world.stop()
    assert world.charged() == Money.parse("0.40")
    world.check_quiet()


def test_charge_of_an_attempt_nothing_allocated_costs_nothing(world: World) -> None:
    world.write(lab(placement={"offerings": ["cpu-4c-16g-us"], "queueTimeout": "1m"}))
    world.fault("create", "error CapacityUnavailable scope region")
    world.apply()
    assert (world.charged(), world.held()) == (Money(0), Money(0))
    world.check_quiet()


# Cap


def test_cap_the_stop_point_is_the_last_second_that_fits_with_the_stop_bound(world: World) -> None:
    running(world, lab(maxCostUSD="0.50"))
    (machine,) = world.machines()
    assert machine.armed_until is not None
    second = timedelta(seconds=1)
    fits = at_rate(elapsed_seconds(machine.armed_until + MINUTE - START), CENTS_20)
    above = at_rate(elapsed_seconds(machine.armed_until + MINUTE + second - START), CENTS_20)
    assert fits <= Money.parse("0.50") < above
    assert world.held() == Money.parse("0.50") or world.held() == fits


def test_cap_too_small_blocks_the_plan_a_later_start_and_a_recovery(world: World) -> None:
    assert [reason.code for reason in world.write(lab(maxCostUSD="0.000001")).plan().reasons] == ["CapTooSmall"]
    running(world, HOME_YAML, workspace_yaml(idleTimeout="0s", maxCostUSD="0.05"))
    world.pass_time(12 * MINUTE)
    world.cloud.kill(world.machines()[0].id)
    world.tick(times=3, every=MINUTE)
    assert world.count("create") == 1, "what is left doesn't pay for another boot"
    status = world.status()
    assert (status.phase, status.stop_reason) == (Phase.STOPPED, "MaxCostReached")
    assert world.charged() <= Money.parse("0.05")
    assert outcome(world.start()).code == "CapTooSmall"
    world.check_quiet()


def test_cap_raised_on_a_running_machine_moves_its_edge_at_the_next_pass(world: World) -> None:
    running(world, lab(maxCostUSD="0.50"))
    before = world.attempt().edge_at
    world.write(lab(maxCostUSD="1.00"))
    assert world.apply().exit_code is ExitCode.DONE
    world.tick()
    after = world.attempt().edge_at
    assert before is not None and after is not None and after - before > 2 * HOUR
    world.pass_time(10 * HOUR)
    world.tick(times=2)
    assert Money.parse("0.90") < world.charged() <= Money.parse("1.00")
    world.check_quiet()


def test_cap_overrun_is_exactly_the_time_past_the_bound(tmp_path: Path) -> None:
    """The platform promises a minute and takes ten, and shutting down ends no bill there: the charge is true, above the cap, and said."""
    slow = f"{KEEPS_BILLING}times: {{release: 10m, stopBound: 1m}}\n"
    world = World(tmp_path / "project", world=slow).write(lab(maxCostUSD="0.50"))
    assert world.apply(world.plan(accepts_no_edge=True)).exit_code is ExitCode.DONE
    edge = world.attempt().edge_at
    assert edge is not None
    world.tick(times=36, every=5 * MINUTE)
    attempt = world.attempt()
    ended = attempt.timings.finished_at
    assert ended is not None and ended > edge + MINUTE
    overrun = world.charged() - Money.parse("0.50")
    past_the_bound = at_rate(elapsed_seconds(ended - (edge + MINUTE)), CENTS_20)
    assert abs(overrun.micro - past_the_bound.micro) <= at_rate(Fraction(1), CENTS_20).micro + 1, "to the second"
    assert [one.code for one in world.events(Remarked)] == ["CapOverrun"]  # type: ignore[attr-defined]
    assert world.status().stop_reason == "MaxCostReached"
    world.check_quiet()


# No hard edge (rule R10)


def test_no_hard_edge_warns_with_the_cost_of_a_day_and_blocks_under_a_cap(tmp_path: Path) -> None:
    world = World(tmp_path / "project", world=KEEPS_BILLING)
    free = world.write(lab()).plan()
    assert free.reasons == ()
    assert any(code == "NoHardEdge" and "$4.80" in message for code, message in free.costs[0].warnings)
    (reason,) = world.write(lab(maxCostUSD="5.00")).plan().reasons
    assert (reason.code, reason.amounts) == ("NoHardEdge", {"day": "4.80"})
    assert world.plan(accepts_no_edge=True).reasons == ()


class AlwaysOn(World):
    """A project that says some host is always on."""

    project_yaml = "project: default\nalwaysOn: true\nproviders:\n  sim: {type: simulated}\n"


def test_no_hard_edge_is_no_reason_where_an_always_on_host_ticked_within_ten_minutes(tmp_path: Path) -> None:
    world = AlwaysOn(tmp_path / "project", world=KEEPS_BILLING)
    running(world)
    world.write(lab(), lab(maxCostUSD="5.00").replace('"lab"', '"two"'))
    assert [one.code for one in world.plan().reasons] == ["NoHardEdge"]
    world.tick()
    assert world.plan().reasons == ()
    world.pass_time(11 * MINUTE)
    assert [one.code for one in world.plan().reasons] == ["NoHardEdge"]


def test_no_hard_edge_a_tick_that_finds_the_machine_off_ends_it_at_once_and_it_bills_till_then(tmp_path: Path) -> None:
    world = running(World(tmp_path / "project", world=KEEPS_BILLING))
    world.pass_time(9 * HOUR)
    assert world.machines()[0].state == "stopped"
    world.tick(times=3, every=MINUTE)
    assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "LeaseEnded")
    attempt = world.attempt()
    assert attempt.timings.finished_at is not None and attempt.timings.finished_at >= START + 9 * HOUR
    assert not attempt.end_is_estimated
    assert world.charged() == charge_of(attempt, attempt.timings.finished_at) > Money.parse("1.80")
    world.check_quiet()


# A money stop and the home


ON_THE_MACHINE = "manners: {diskOutlivesMachine: false}\n"


def test_funded_a_money_stop_saves_a_home_on_the_machine_itself_before_the_money_ends(tmp_path: Path) -> None:
    world = World(tmp_path / "project", world=ON_THE_MACHINE)
    running(world, HOME_YAML, workspace_yaml(idleTimeout="0s", maxCostUSD="0.50"))
    edge = world.attempt().edge_at
    world.tick(times=32, every=5 * MINUTE)
    assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "MaxCostReached")
    (saved,) = world.events(HomeSaved)
    assert edge is not None and saved.time <= edge
    assert world.condition("Funded") == "False"
    assert world.charged() <= Money.parse("0.50")
    world.check_quiet()


def test_funded_past_the_edge_a_money_stop_ends_without_the_save_and_says_what_was_not_saved(tmp_path: Path) -> None:
    world = World(tmp_path / "project", world=f"{ON_THE_MACHINE}{KEEPS_BILLING}")
    world.write(HOME_YAML, workspace_yaml(idleTimeout="0s", maxCostUSD="0.50"))
    world.apply(world.plan(accepts_no_edge=True))
    world.pass_time(4 * HOUR)
    world.tick(times=3, every=MINUTE)
    assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "MaxCostReached")
    assert world.events(HomeSaved) == []
    (lost,) = world.events(HomeNotSaved)
    assert lost.reason == "disk newer than revision 0: its money ended before the save did"  # type: ignore[attr-defined]
    assert world.condition("StateSaved") == "False"
    world.check_quiet()


def test_funded_is_false_once_nothing_more_can_be_held_and_stop_by_is_then_the_funded_edge(world: World) -> None:
    running(world, lab(maxCostUSD="3.00"))
    seen = []
    for _ in range(10):
        world.pass_time(HOUR)
        world.tick()
        stored = world.state.journal.load(world.standing().record.uid)
        assert stored is not None
        status = workspace_status(stored, world.state.journal.snapshot(), now=world.clock.now())
        edge = world.attempt().edge_at
        assert edge is not None
        assert status["cost"]["fundedUntilTime"] == format_time(edge.replace(microsecond=0)) == status["stopByTime"]
        seen.append(world.condition("Funded"))
    assert seen == ["True"] * 8 + ["False"] * 2
    assert world.attempt().edge_bound == "cap"


# Receipts


def test_receipts_sum_to_the_ledger_to_the_last_decimal(world: World) -> None:
    running(world)
    world.pass_time(7 * MINUTE + timedelta(seconds=13))
    world.stop()
    world.start()
    world.pass_time(5 * HOUR)
    world.tick()
    world.stop()
    receipts = receipts_among(attempts_of(LAB, world.state.journal), journal=world.state.journal, now=world.clock.now())
    assert len(receipts) == 2 and all(one.is_final for one in receipts)
    assert total(one.charge_usd for one in receipts) == world.charged()
    world.check_quiet()
