"""lifecycle.md, "Unattended starts have a price": windows, wakes, retries and recoveries stay inside what somebody approved."""

from __future__ import annotations

from datetime import timedelta

from support.world import HOME_YAML, START, World, workspace_yaml

from nodusctl.base.exits import ExitCode
from nodusctl.base.money import Money
from nodusctl.state.status import Phase
from nodusctl.state.terms import ceiling

MINUTE = timedelta(minutes=1)
NOON = START + timedelta(hours=3)


def admitted(world: World, **spec: object) -> World:
    """A Workspace with a window from noon, approved and stopped."""
    world.write(HOME_YAML, workspace_yaml(idleTimeout="0s", annotations={"windows": "daily 12:00-17:00 UTC"}, **spec))
    assert world.apply().exit_code is ExitCode.DONE
    return world


def test_an_object_admitted_stopped_keeps_its_offers_in_order_each_with_its_ceiling(world: World) -> None:
    admitted(world)
    approval = world.standing().record.approval
    assert approval is not None and len(approval.terms) > 1
    assert all(one.ceiling_usd_per_hour == ceiling(one.rate_usd_per_hour) for one in approval.terms)
    assert [one.rate_usd_per_hour for one in approval.terms] == sorted(one.rate_usd_per_hour for one in approval.terms)


def test_a_window_takes_the_next_approved_offer_where_the_first_is_above_its_ceiling(world: World) -> None:
    admitted(world)
    world.fault("price", "price 0.30", "cpu-4c-16g-us")
    world.pass_time(NOON - timedelta(minutes=15) - world.clock.now())
    world.tick(times=2, every=MINUTE)
    assert world.status().phase is Phase.RUNNING
    terms = world.attempt().terms
    assert terms is not None and terms.offering != "cpu-4c-16g-us"


def test_a_window_pays_todays_price_up_to_the_ceiling(world: World) -> None:
    admitted(world, placement={"offerings": ["cpu-4c-16g-us"]})
    world.fault("price", "price 0.22", "cpu-4c-16g-us")
    world.pass_time(NOON - timedelta(minutes=15) - world.clock.now())
    world.tick(times=2, every=MINUTE)
    terms = world.attempt().terms
    assert terms is not None and terms.rate_usd_per_hour == Money.parse("0.22")


def test_a_recovery_above_the_ceiling_ends_the_session_and_starts_no_second_machine(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml(idleTimeout="0s", placement={"offerings": ["cpu-4c-16g-us"]}))
    assert world.apply().exit_code is ExitCode.DONE
    world.fault("price", "price 0.30", "cpu-4c-16g-us")
    world.cloud.kill(world.machines()[0].id)
    world.pass_time(MINUTE)
    world.tick(times=3, every=MINUTE)
    assert (world.status().phase, world.status().stop_reason, world.status().reason) == (Phase.STOPPED, "Interrupted", "PriceMoved")
    assert "+50 %" in world.status().message
    assert (world.count("create"), world.held()) == (1, Money(0))
    assert [one.path for action in world.plan().actions for one in action.changes] == ["approved rate"]
    world.check_quiet()
