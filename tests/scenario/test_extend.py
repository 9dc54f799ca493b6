"""``extend``: a longer session inside its cap. The end moves on the machine itself, with its hold, and for today only."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from support.world import HOME_YAML, World, workspace_yaml

from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.money import Money
from nodusctl.state.status import Phase

STOP_AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def running(world: World, **spec: object) -> World:
    """A Workspace that runs until 12:00 UTC."""
    fields = {"idleTimeout": "0s", "schedule": {"stopAt": "2026-03-02T12:00:00Z"}, **spec}
    world.write(HOME_YAML, workspace_yaml(**fields))
    assert world.apply().exit_code is ExitCode.DONE
    return world


def refusal(world: World, by: timedelta) -> str:
    """What an extension that isn't possible says."""
    edge = world.attempt().edge_at if world.attempts() else None
    with pytest.raises(UserError) as raised:
        world.extend(by)
    assert (world.attempt().edge_at if world.attempts() else None) == edge, "a refusal moves nothing"
    world.check_quiet()
    return f"{raised.value.diagnostics[0].code}: {raised.value.diagnostics[0].detail}"


def test_the_session_goes_on_until_the_new_end_and_the_cost_of_the_difference_is_said(world: World) -> None:
    running(world)
    set_aside = world.held()
    done = world.extend(2 * HOUR)
    assert (done.before, done.until) == (STOP_AT, STOP_AT + 2 * HOUR)
    assert (done.extra_usd, done.at_most_usd) == (Money.parse("0.40"), Money.parse("0.40"))
    assert world.machines()[0].armed_until == STOP_AT + 2 * HOUR
    assert world.held() + world.charged() == set_aside + Money.parse("0.40")
    world.pass_time(STOP_AT + HOUR - world.clock.now())
    world.tick()
    assert world.status().phase is Phase.RUNNING
    world.pass_time(HOUR)
    world.tick(times=4, every=timedelta(minutes=1))
    assert (world.status().stop_reason, world.attempt().timings.finished_at) == ("Schedule", STOP_AT + 2 * HOUR)
    world.check_quiet()


def test_a_second_extension_adds_to_the_first(world: World) -> None:
    running(world)
    world.extend(HOUR)
    assert world.extend(HOUR).until == STOP_AT + 2 * HOUR
    assert world.machines()[0].armed_until == STOP_AT + 2 * HOUR


def test_an_extension_is_for_the_session_that_runs_and_for_no_later_one(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml(idleTimeout="0s", annotations={"windows": "daily 09:00-12:00 UTC"}))
    assert world.apply().exit_code is ExitCode.DONE
    world.extend(HOUR)
    world.stop()
    world.pass_time(STOP_AT + timedelta(hours=20, minutes=50) - world.clock.now())
    world.tick(times=2, every=timedelta(minutes=1))
    assert world.machines()[0].armed_until == STOP_AT + timedelta(days=1)


def test_beyond_its_cap_it_is_refused_with_how_long_the_money_lasts(world: World) -> None:
    running(world, maxCostUSD="0.80")
    said = refusal(world, 2 * HOUR)
    assert said.startswith(
        "CapTooSmall: workspace/lab was to run until 2026-03-02T14:00:00Z, but maxCostUSD $0.80 lasts until 2026-03-02T12:59"
    )


def test_beyond_a_block_budget_it_is_refused_with_how_long_that_lasts(world: World) -> None:
    budget = "apiVersion: nodus.dev/v1\nkind: Budget\nmetadata: {name: small}\nspec: {limitUSD: '0.70', period: Total, action: Block}\n"
    world.write(HOME_YAML, budget, workspace_yaml(idleTimeout="0s", schedule={"stopAt": "2026-03-02T12:00:00Z"}))
    assert world.apply().exit_code is ExitCode.DONE
    said = refusal(world, 2 * HOUR)
    assert said.startswith(
        "BudgetExceeded: workspace/lab was to run until 2026-03-02T14:00:00Z, but what its Budgets have left lasts until"
    )


def test_without_a_stop_time_there_is_nothing_to_extend_and_it_says_what_ends_it(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml(maxCostUSD="5.00"))
    assert world.apply().exit_code is ExitCode.DONE
    said = refusal(world, HOUR)
    assert "nothing ends it but idleTimeout, its lease of 8h, which a tick renews, and its money at 2026-03-03T09:59" in said


def test_what_does_not_run_cannot_be_extended(world: World) -> None:
    running(world)
    world.stop()
    assert refusal(world, HOUR) == "Conflict: workspace/lab is Stopped; only a session that runs can be made longer."
