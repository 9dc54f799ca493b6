"""What a session costs and when its money ends it: hold, capture, release; the cap is kept by the machine's own edge."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

from support.world import HOME_YAML, LAB, START, World, outcome, workspace_yaml

from nodusctl.attempts.events import Remarked
from nodusctl.base.exits import ExitCode
from nodusctl.base.money import Money
from nodusctl.ledger.entries import EntryKind
from nodusctl.state.status import Phase


def running(world: World, **spec: object) -> World:
    """Without an idle limit: here only money and time end a session."""
    world.write(HOME_YAML, workspace_yaml(**{"idleTimeout": "0s", **spec}))
    assert world.apply().exit_code is ExitCode.DONE
    return world


def test_the_charge_is_the_time_at_the_rate_and_the_rest_of_the_hold_goes_back(world: World) -> None:
    running(world)
    world.pass_time(timedelta(minutes=30))
    world.stop()
    timings = world.attempt().timings
    assert timings.finished_at is not None and timings.billing_started_at == START
    seconds = -(-(timings.finished_at - START) // timedelta(seconds=1))
    assert world.charged() == Money.from_fraction(Fraction(20, 100) * seconds / 3600)
    assert [entry.kind for entry in world.entries()] == [EntryKind.HOLD, EntryKind.CAPTURE, EntryKind.RELEASE]
    assert world.held() == Money(0)
    world.check_quiet()


def test_the_cap_ends_the_machine_by_itself_and_the_charge_stays_below_it(world: World) -> None:
    running(world, maxCostUSD="0.50")
    edge = world.machines()[0].armed_until
    assert edge is not None and edge < START + timedelta(hours=2, minutes=30), "0.50 at 0.20 an hour, less the stop bound"
    assert world.held() <= Money.parse("0.50")
    world.pass_time(timedelta(hours=20))
    assert world.machines()[0].state == "stopped", "nobody had to wake up for it"
    assert world.stop().exit_code is ExitCode.DONE
    assert world.charged() <= Money.parse("0.50")
    assert world.attempt().timings.finished_at == edge
    assert world.home().revision == 1
    assert world.events(Remarked) == []
    world.check_quiet()


def test_what_earlier_sessions_cost_counts_against_the_cap(world: World) -> None:
    running(world, maxCostUSD="0.50")
    world.pass_time(timedelta(hours=2))
    world.stop()
    spent = world.charged()
    assert world.start().exit_code is ExitCode.DONE
    assert world.held() + spent <= Money.parse("0.50")
    world.pass_time(timedelta(hours=20))
    world.stop()
    assert world.charged() <= Money.parse("0.50")
    world.check_quiet()


def test_a_cap_that_no_longer_pays_a_start_fails_it_before_anything_is_asked_of_the_provider(world: World) -> None:
    running(world, maxCostUSD="0.05")
    world.pass_time(timedelta(hours=2))
    world.stop()
    result = world.start()
    assert outcome(result, LAB).code == "CapTooSmall"
    assert (world.status().phase, world.status().reason) == (Phase.FAILED, "CapTooSmall")
    assert world.count("create") == 1
    assert world.charged() <= Money.parse("0.05")
    world.check_quiet()


def test_a_machine_ended_late_is_charged_truly_and_the_overrun_is_remarked(world: World) -> None:
    """An entry is never clamped to look right: here the platform forgets the edge it had armed."""
    running(world, maxCostUSD="0.50")
    world.cloud.ask_agent(world.machines()[0].id, _renewal(timedelta(hours=6)))
    world.pass_time(timedelta(hours=4))
    world.stop()
    assert world.charged() > Money.parse("0.50")
    assert [remark.code for remark in world.events(Remarked)] == ["CapOverrun"]  # type: ignore[attr-defined]
    assert world.held() == Money(0)
    world.check_quiet()


def test_an_end_of_the_lease_is_told_from_an_end_of_the_money(world: World) -> None:
    running(world)
    world.pass_time(timedelta(hours=9))
    world.stop()
    assert world.attempt().timings.finished_at == START + timedelta(hours=8)
    world.check_quiet()


def test_stop_at_arms_the_machine(world: World) -> None:
    running(world, schedule={"stopAt": "2026-03-02T10:00:00Z"})
    assert world.machines()[0].armed_until == START + timedelta(hours=1)
    assert world.held() == Money.parse("0.203333")


def test_a_price_that_rose_within_the_ceiling_is_what_is_charged_and_said(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml(placement={"offerings": ["cpu-4c-16g-us"]}))
    plan = world.plan()
    world.fault("price", "price 0.22", "cpu-4c-16g-us")
    result = world.apply(plan, is_saved_plan=True)
    assert result.exit_code is ExitCode.DONE
    assert [note.code for note in result.diagnostics] == ["PriceMoved"]
    assert world.attempt().terms is not None and world.attempt().terms.rate_usd_per_hour == Money.parse("0.22")


def _renewal(span: timedelta) -> object:
    from nodusctl.provider.agent import AgentCommand, AgentRequest

    return AgentRequest(command=AgentCommand.RENEW, edge_seconds=int(span.total_seconds()))
