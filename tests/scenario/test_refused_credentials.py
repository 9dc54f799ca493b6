"""Rule R12: a refused account is never "no capacity" and never "gone"; the object keeps its phase, and goes on once it is mended."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.world import HOME_YAML, LAB, World, outcome, workspace_yaml

from nodusctl.base.exits import ExitCode
from nodusctl.base.money import Money
from nodusctl.state.status import Phase


@pytest.fixture(autouse=True)
def written(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())


def test_a_launch_refused_for_the_account_leaves_the_object_pending(world: World) -> None:
    world.fault("create", "error Unauthorized")
    result = world.apply(timeout=timedelta(days=30))
    assert outcome(result).code == "ProviderNotReady"
    assert world.status().phase is Phase.PENDING
    assert world.count("create") == 1, "the account was refused once; its other offers are not asked"
    assert world.held() == Money(0)
    world.check_quiet()


def test_once_the_credentials_are_mended_the_next_apply_starts_at_once(world: World) -> None:
    world.fault("create", "error Unauthorized")
    world.apply()
    world.heal()
    before = world.clock.now()
    assert world.again().apply().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.RUNNING
    assert world.attempt().timings.acquired_at == before
    world.check_quiet()


def test_a_refused_account_never_fails_a_workspace_for_its_queue_timeout(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml(placement={"queueTimeout": "5m"}))
    world.fault("create", "error Unauthorized")
    for _ in range(3):
        world.again().apply()
        world.pass_time(timedelta(hours=1))
    assert world.status().phase is Phase.PENDING


@pytest.mark.parametrize("operation", ["attach", "get"])
def test_a_start_that_is_refused_midway_stays_starting_and_goes_on_later(world: World, operation: str) -> None:
    world.fault(operation, "error Unauthorized")
    result = world.apply(timeout=timedelta(hours=3))
    assert outcome(result).code == "ProviderNotReady"
    assert world.status().phase is Phase.STARTING
    assert len(world.machines()) == 1
    world.heal()
    assert world.again().apply().exit_code is ExitCode.DONE
    assert world.count("create") == 1
    world.check_quiet()


@pytest.mark.parametrize("operation", ["delete", "detach"])
def test_a_stop_that_is_refused_stays_stopping_and_is_never_reported_stopped(world: World, operation: str) -> None:
    world.apply()
    world.fault(operation, "error Unauthorized")
    result = world.stop()
    assert result.exit_code is not ExitCode.DONE
    assert world.status().phase is Phase.STOPPING
    world.heal()
    assert world.again().apply().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.STOPPED
    assert world.home().revision == 1
    world.check_quiet()


def test_a_settling_look_up_that_is_refused_proves_nothing(world: World) -> None:
    world.fault("create", "accept-then-drop", times=1)
    world.fault("find", "error Unauthorized")
    result = world.apply(timeout=timedelta(hours=3))
    assert outcome(result, LAB).code == "IntentUnsettled"
    assert outcome(result, LAB).has_open_intent
    world.heal()
    assert world.again().apply().exit_code is ExitCode.DONE
    assert world.count("create") == 1
    world.check_quiet()
