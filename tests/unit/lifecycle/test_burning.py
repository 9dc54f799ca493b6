"""A stop that doesn't get on says what its machine costs meanwhile; one that only takes its time says nothing of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from support import situations as given
from support.situations import NOW, situation

from nodusctl.attempts.intents import StepKind
from nodusctl.lifecycle.next_step import next_step
from nodusctl.lifecycle.steps import GiveUp, Release, Wait
from nodusctl.provider.machines import MachineState
from nodusctl.state.status import Phase

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
QUIET = replace(given.stopping(given.launched(ready=True)), quiet_asked=True)
FAILED_ONCE = {"failures": {"release": 1}, "failed_at": {"release": NOW}, "asked_in_vain": "it hangs there"}
BURNS = "it still costs $0.20/h (machine i-1)"


def step_of(made: Any = QUIET, **changes: Any) -> Any:
    """The next step of a Workspace that stops."""
    return next_step(situation(Phase.STOPPING, made, **changes))


def test_a_release_that_brought_nothing_says_why_and_the_rate() -> None:
    step = step_of(sightings=given.sightings(**FAILED_ONCE))
    because = f"trying to release again (it hangs there); {BURNS}"
    assert step == Wait(until=NOW + SECOND, because=because, code="ProviderNotReady")


def test_so_does_one_that_is_given_up_for_this_pass_and_one_whose_answer_was_lost() -> None:
    worn = step_of(sightings=given.sightings(failures={"release": 6}, failed_at={"release": NOW}))
    assert isinstance(worn, GiveUp) and worn.because.endswith(f"; {BURNS}")
    lost = given.sightings(failures={"settle-release": 1}, failed_at={"settle-release": NOW})
    step = step_of(sightings=lost, intents=(given.intent(StepKind.RELEASE, last_detail="time-out"),))
    assert step == Wait(until=NOW + SECOND, because=f"asking again what became of the release: time-out; {BURNS}", code="IntentUnsettled")


def test_a_release_under_way_says_nothing_of_it_until_it_should_have_been_over() -> None:
    asked = given.sightings(failed_at={"release-pending": NOW})
    assert step_of(sightings=asked) == Wait(until=step_of(sightings=asked).until, because="waiting for the machine to end")
    late = NOW + 7 * MINUTE
    step = step_of(sightings=given.sightings(failed_at={"release-pending": late}), now=late)
    words = f"waiting for the machine to end; it should have been gone by 2026-03-02 09:06 UTC; {BURNS}"
    assert isinstance(step, Wait) and (step.because, step.code) == (words, "ProviderNotReady")


def test_what_bills_no_more_or_costs_nothing_is_not_said_to_burn() -> None:
    ended = given.sightings(given.machine(MachineState.STOPPED, ended_at=NOW), **FAILED_ONCE)
    free = replace(QUIET, terms=given.terms(rate="0"))
    for step in (step_of(sightings=ended), step_of(free, sightings=given.sightings(**FAILED_ONCE))):
        assert isinstance(step, Wait) and "costs" not in step.because


def test_a_platform_that_asks_for_patience_is_asked_again_no_sooner() -> None:
    patient = given.sightings(**FAILED_ONCE, not_before={"release": NOW + MINUTE})
    assert step_of(sightings=patient).until == NOW + MINUTE
    assert isinstance(step_of(sightings=patient, now=NOW + MINUTE), Release)


def test_a_running_machine_that_does_not_take_a_renewal_ends_a_pass_and_one_that_starts_does_not() -> None:
    failed = given.sightings(failures={"settle-push": 1}, failed_at={"settle-push": NOW}, looked_at=NOW + SECOND)
    intents = (given.intent(StepKind.PUSH, last_detail="no route"),)
    running = next_step(situation(Phase.RUNNING, given.launched(ready=True), sightings=failed, intents=intents))
    assert isinstance(running, Wait)
    assert (running.code, running.because) == ("NodeUnreachable", "the machine runs and doesn't answer: no route; its push stays open")
    starting = next_step(situation(Phase.STARTING, given.launched(), sightings=failed, intents=intents))
    assert isinstance(starting, Wait) and starting.code == ""
