"""When an offer doesn't work out: the next one of the approval, never more machines than one, nothing left behind."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest
from support.world import HOME_YAML, LAB, World, outcome, workspace_yaml

from nodusctl.attempts.attempt import AttemptPhase
from nodusctl.attempts.events import LaunchRefused
from nodusctl.base.exits import ExitCode
from nodusctl.base.money import Money
from nodusctl.ledger.balances import balances
from nodusctl.ledger.build import AttemptBalance
from nodusctl.state.status import Phase


@pytest.fixture(autouse=True)
def written(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())


def test_a_zone_that_is_sold_out_is_followed_by_the_next(world: World) -> None:
    world.fault("create", "error CapacityUnavailable", nth=1)
    assert world.apply().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.RUNNING
    refused = world.attempt().refusals
    assert [(one.code, one.scope) for one in refused] == [("CapacityUnavailable", "zone")]
    assert world.attempt().terms is not None and world.attempt().terms.offer_key != refused[0].offer_key
    assert len(world.attempts()) == 1, "a refused launch is a try of the same Attempt"
    world.check_quiet()


def test_the_empty_disk_of_a_sold_out_zone_is_removed_and_made_where_the_machine_goes(world: World) -> None:
    world.fault("create", "error CapacityUnavailable", nth=1)
    world.apply()
    attempt = world.attempt()
    assert world.home().zone == attempt.terms.zone  # type: ignore[union-attr]
    assert (world.count("volume-create"), world.count("volume-delete")) == (2, 1)


def test_a_disk_that_holds_data_is_never_left_for_another_zone(world: World) -> None:
    """Rules R6 and R7: with a saved home only offers of its own place count."""
    world.apply()
    zone = world.home().zone
    world.stop()
    world.fault("create", "error CapacityUnavailable")
    world.start(timeout=timedelta(minutes=5))
    assert world.status().phase is Phase.PENDING
    approved = {terms.offer_key: terms.zone for terms in world.standing(LAB).record.approval.terms}  # type: ignore[union-attr]
    tried = {event.offer_key for event in world.events(LaunchRefused)}  # type: ignore[attr-defined]
    assert {approved[key] for key in tried} == {zone}
    assert world.count("volume-delete") == 0


def test_a_home_whose_disk_cannot_be_made_in_a_zone_goes_to_the_next(world: World) -> None:
    world.fault("volume-create", "error CapacityUnavailable", nth=1)
    assert world.apply().exit_code is ExitCode.DONE
    assert world.home().zone == "us-1b"
    world.check_quiet()


def test_with_all_offers_refused_it_stays_pending_and_is_tried_again_with_growing_pauses(world: World) -> None:
    world.fault("create", "error CapacityUnavailable")
    result = world.apply(timeout=timedelta(minutes=30))
    assert result.exit_code is not ExitCode.DONE
    assert (world.status().phase, world.status().reason) == (Phase.PENDING, "CapacityUnavailable")
    assert world.condition("Scheduled") == "False"
    times = [one.time for one in world.attempt().refusals if one.offer_key == world.attempt().refusals[0].offer_key]
    gaps = [after - before for before, after in pairwise(times)]
    assert len(gaps) >= 3
    assert gaps == sorted(gaps)
    assert gaps[0] == timedelta(minutes=1)
    assert world.held() == Money(0)
    world.heal()
    assert world.again().apply().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.RUNNING
    world.check_quiet()


def test_when_the_queue_timeout_runs_out_it_has_failed_for_want_of_capacity(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml(placement={"queueTimeout": "10m"}))
    world.fault("create", "error CapacityUnavailable")
    result = world.apply()
    assert (world.status().phase, world.status().reason) == (Phase.FAILED, "CapacityUnavailable")
    assert outcome(result).code == "CapacityUnavailable"
    assert world.attempt().phase is AttemptPhase.FAILED
    assert balances(world.entries()).attempt(world.attempt().uid) == AttemptBalance()
    world.check_quiet()


def test_a_refusal_that_cannot_heal_ends_the_offer_at_once(world: World) -> None:
    world.fault("create", "error Invalid message this image is not sold here")
    result = world.apply()
    assert (world.status().phase, world.status().reason) == (Phase.FAILED, "Invalid")
    assert "this image is not sold here" in world.status().message
    assert result.exit_code is ExitCode.ERROR
    assert world.count("create") == len({one.offer_key for one in world.attempt().refusals})
    world.check_quiet()


def test_a_failed_workspace_starts_when_its_owner_asks_again(world: World) -> None:
    world.fault("create", "error Invalid")
    world.apply()
    world.heal()
    assert world.start().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.RUNNING
    world.check_quiet()


def test_the_platforms_own_retry_after_is_waited_for(world: World) -> None:
    world.fault("create", "error TooManyRequests retry-after 7m", times=1)
    assert world.apply().exit_code is ExitCode.DONE
    first, begun = world.attempt().refusals[0].time, world.attempt().timings.acquired_at
    assert begun is not None and begun - first >= timedelta(minutes=7)


def test_a_machine_that_never_answers_is_released_before_the_next_is_tried(world: World) -> None:
    world.fault("create", "unreachable", nth=1)
    assert world.apply(timeout=timedelta(hours=1)).exit_code is ExitCode.DONE
    lost, used = world.attempts()
    assert (lost.phase, lost.stop_reason) == (AttemptPhase.FAILED, "StartTimeout")
    assert lost.timings.finished_at is not None and used.timings.acquired_at is not None
    assert lost.timings.finished_at <= used.timings.acquired_at
    assert lost.terms is not None and used.terms is not None
    assert lost.terms.offer_key != used.terms.offer_key
    assert world.status().phase is Phase.RUNNING
    assert len(world.machines()) == 1
    world.check_quiet()


def test_a_machine_that_dies_while_it_boots_is_followed_by_the_next_offer(world: World) -> None:
    world.apply(timeout=timedelta(seconds=10))
    world.cloud.kill(world.machines()[0].id)
    assert world.again().apply().exit_code is ExitCode.DONE
    lost, used = world.attempts()
    assert (lost.phase, lost.stop_reason) == (AttemptPhase.FAILED, "MachineLost")
    assert used.phase is AttemptPhase.RUNNING
    assert world.home().zone == used.terms.zone  # type: ignore[union-attr]
    world.check_quiet()


def test_when_every_machine_is_lost_it_has_failed_with_the_reason_of_the_last(world: World) -> None:
    world.fault("create", "unreachable")
    result = world.apply(timeout=timedelta(hours=6))
    assert (world.status().phase, world.status().reason) == (Phase.FAILED, "StartTimeout")
    assert outcome(result).code == "StartTimeout"
    tried = [one.terms.offer_key for one in world.attempts() if one.terms is not None]
    assert len(tried) == len(set(tried)), "no offer is burnt twice"
    assert world.machines() == ()
    world.check_quiet()


def test_after_every_machine_was_lost_an_owners_start_tries_the_offers_again(world: World) -> None:
    world.fault("create", "unreachable")
    world.apply(timeout=timedelta(hours=6))
    world.heal()
    assert world.start().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.RUNNING
    world.check_quiet()


def test_a_machine_without_an_armed_edge_never_counts_as_running(world: World) -> None:
    """Case 30: it is given back within the start's bound, and the next one is tried."""
    world.fault("create", "no-edge", nth=1)
    assert world.apply(timeout=timedelta(hours=1)).exit_code is ExitCode.DONE
    lost, used = world.attempts()
    assert lost.phase is AttemptPhase.FAILED
    assert lost.timings.ready_at is None
    assert lost.stop_reason == "StartTimeout"
    assert [machine.armed_until is not None for machine in world.machines()] == [True]
    assert used.edge_at is not None
    world.check_quiet()


def test_looks_that_fail_now_and_then_do_not_end_a_start(world: World) -> None:
    """Case 30: random get errors that flip what is known to unknown and back."""
    world.fault("get", "error Unavailable", nth=1, times=2)
    assert world.apply().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.RUNNING
    assert world.count("create") == 1


def test_a_machine_that_may_not_be_read_is_not_gone(world: World) -> None:
    world.fault("get", "forbidden")
    result = world.apply()
    assert world.status().phase is Phase.STARTING
    assert outcome(result).code == "ProviderNotReady"
    assert len(world.machines()) == 1
    world.heal()
    assert world.again().apply().exit_code is ExitCode.DONE
    assert world.count("create") == 1
    world.check_quiet()
