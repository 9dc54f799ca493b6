"""lifecycle.md, "Wake" and "Unattended starts have a price": who may start a stopped machine by connecting to it, and up to which price."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.world import HOME_YAML, LAB, World, workspace_yaml

from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.money import Money
from nodusctl.engine.applying import ApplySettings
from nodusctl.engine.current_rates import CurrentRates
from nodusctl.engine.market import configured_rates
from nodusctl.engine.waking import Lack, bring_up, lack_of, wake_words, why_no_wake
from nodusctl.executor.runs import Interrupts
from nodusctl.ports.journal import StoredObject
from nodusctl.state.status import Phase

MINUTE = timedelta(minutes=1)


def stored(world: World) -> StoredObject:
    """The Workspace as a connection finds it."""
    found = world.state.journal.load(world.standing().record.uid)
    assert found is not None
    return found


def idle(world: World, **spec: object) -> World:
    """A Workspace that ran, wasn't used, and stopped itself; its stop is settled."""
    fields = {"idleTimeout": "10m", "placement": {"offerings": ["cpu-4c-16g-us"]}, **spec}
    world.write(HOME_YAML, workspace_yaml(**fields))
    assert world.apply().exit_code is ExitCode.DONE
    world.pass_time(timedelta(minutes=20))
    world.tick(times=4, every=MINUTE)
    assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "Idle")
    return world


def connect(world: World, *, is_connection: bool = True) -> None:
    """What ssh-proxy does for a stopped Workspace once it may (or ``ssh``, which a person types)."""
    rates = CurrentRates(world.providers, world.prices, configured_rates(world.project))
    bring_up(
        LAB,
        Lack.WAKE,
        outside=world.outside(rate_of=rates),
        command="nodusctl ssh-proxy lab",
        settings=ApplySettings(),
        interrupts=Interrupts(),
        is_connection=is_connection,
    )


def test_a_connection_wakes_what_has_been_stopped_for_thirty_minutes_and_says_rate_and_cap_first(world: World) -> None:
    idle(world, maxCostUSD="5.00")
    assert "starts it after 30m only" in why_no_wake(stored(world), None, world.clock.now())
    world.pass_time(31 * MINUTE)
    assert why_no_wake(stored(world), None, world.clock.now()) == ""
    assert lack_of(stored(world)) is Lack.WAKE
    assert wake_words(stored(world)) == "lab is Stopped (Idle); starting it at $0.20/h, cap $5.00"
    connect(world)
    session = world.status().session
    assert session is not None
    assert (world.status().phase, session.trigger) == (Phase.RUNNING, "wake")
    assert world.status().stop_reason == ""


def test_a_connection_asks_todays_price_and_pays_it_inside_the_ceiling(world: World) -> None:
    idle(world)
    world.fault("price", "price 0.22", "cpu-4c-16g-us")
    connect(world)
    terms = world.attempt().terms
    assert terms is not None
    assert terms.rate_usd_per_hour == Money.parse("0.22")


def test_a_connection_above_the_ceiling_is_refused_with_old_new_and_percent_and_starts_nothing(world: World) -> None:
    idle(world)
    made, held = world.count("create"), world.held()
    world.fault("price", "price 0.30", "cpu-4c-16g-us")
    with pytest.raises(UserError) as refusal:
        connect(world)
    said = refusal.value.diagnostics[0]
    assert (said.code, refusal.value.exit_code) == ("PriceMoved", ExitCode.PRICE)
    assert "$0.20/h" in said.detail and "$0.30/h" in said.detail and "+50 %" in said.detail
    assert (world.count("create"), world.held(), world.status().phase) == (made, held, Phase.STOPPED)
    assert [one.path for action in world.plan().actions for one in action.changes] == ["approved rate"]
    world.check_quiet()


def test_a_person_who_starts_it_afterwards_is_no_connection(world: World) -> None:
    idle(world)
    connect(world)
    world.stop()
    world.start()
    session = world.status().session
    assert session is not None and session.trigger == "owner"


def test_a_connection_never_wakes_what_its_money_stopped(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml(maxCostUSD="0.10", idleTimeout="0s"))
    assert world.apply().exit_code is ExitCode.DONE
    world.pass_time(timedelta(hours=1))
    world.tick(times=4, every=MINUTE)
    assert world.status().stop_reason == "MaxCostReached"
    world.pass_time(timedelta(days=3))
    assert "MaxCostReached" in why_no_wake(stored(world), None, world.clock.now())


def test_a_connection_never_wakes_what_stopat_stopped(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml(schedule={"stopAt": "2026-03-02T10:00:00Z"}, idleTimeout="0s"))
    assert world.apply().exit_code is ExitCode.DONE
    world.pass_time(timedelta(hours=1))
    world.tick(times=4, every=MINUTE)
    assert world.status().stop_reason == "Schedule"
    world.pass_time(timedelta(days=3))
    assert "Schedule" in why_no_wake(stored(world), None, world.clock.now())


def test_an_editor_that_was_open_at_the_stop_and_retries_all_night_wakes_nothing(world: World) -> None:
    idle(world)
    ended = world.attempt().timings.stop_asked_at
    assert ended is not None
    for _ in range(9):
        world.pass_time(timedelta(hours=1))
        assert "may only be reconnecting" in why_no_wake(stored(world), ended, world.clock.now())


def test_what_its_owner_parked_needs_its_owner(world: World) -> None:
    idle(world)
    world.stop(parks=True)
    with pytest.raises(UserError):
        lack_of(stored(world))
