"""Settling an open intent by rules R2 and R3."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from support import situations as given
from support.situations import NOW, situation

from nodusctl.attempts.intents import Intent, StepKind
from nodusctl.lifecycle.settling import settle
from nodusctl.lifecycle.situation import Sightings
from nodusctl.lifecycle.steps import Abandon, GiveUp, Resend, Settle, Wait
from nodusctl.state.status import Phase

LAG = timedelta(seconds=120)
MAKES = [StepKind.LAUNCH, StepKind.CREATE_DISK, StepKind.SAVE]
STATES_A_GOAL = [StepKind.RELEASE, StepKind.ATTACH, StepKind.DETACH, StepKind.GROW, StepKind.DELETE_DISK, StepKind.HAND_OVER_KEYS]


def settled(intent: Intent, *, after: timedelta = timedelta(0), is_idempotent: bool = True, seen: Sightings | None = None) -> object:
    platform = given.platform(create_is_idempotent=is_idempotent)
    return settle(situation(made=given.attempt(), platforms=(platform,), now=NOW + after, sightings=seen or Sightings()), intent)


@pytest.mark.parametrize("step", MAKES)
def test_what_makes_a_thing_is_looked_for_first(step: StepKind) -> None:
    assert isinstance(settled(given.intent(step)), Settle)


@pytest.mark.parametrize("step", STATES_A_GOAL)
def test_what_states_a_goal_is_simply_asked_again(step: StepKind) -> None:
    assert isinstance(settled(given.intent(step)), Resend)


def test_an_absence_inside_the_list_lag_counts_for_nothing() -> None:
    early = given.intent(absences=(NOW, NOW + timedelta(seconds=60)))
    step = settled(early, after=timedelta(seconds=61))
    assert isinstance(step, Wait) and step.until == NOW + LAG


def test_one_absence_after_the_lag_is_not_enough() -> None:
    once = given.intent(absences=(NOW + LAG,))
    step = settled(once, after=LAG)
    assert isinstance(step, Wait) and step.until == NOW + LAG + timedelta(seconds=1)
    assert isinstance(settled(once, after=LAG + timedelta(seconds=1)), Settle)


def test_two_absences_after_the_lag_prove_it_and_an_idempotent_create_is_sent_again() -> None:
    twice = given.intent(absences=(NOW + LAG, NOW + LAG + timedelta(seconds=1)))
    step = settled(twice, after=LAG + timedelta(seconds=1))
    assert isinstance(step, Resend) and step.intent.token == twice.token


@pytest.mark.parametrize("step", [StepKind.LAUNCH, StepKind.CREATE_DISK])
def test_where_creates_are_not_idempotent_it_is_given_up_for_a_new_token(step: StepKind) -> None:
    twice = given.intent(step, absences=(NOW + LAG, NOW + LAG + timedelta(seconds=1)))
    assert isinstance(settled(twice, after=LAG + timedelta(seconds=1), is_idempotent=False), Abandon)


def test_after_three_looks_that_told_nothing_the_pass_ends_and_the_intent_stays() -> None:
    worn = Sightings(failures={"settle-launch": 3}, failed_at={"settle-launch": NOW})
    step = settled(given.intent(), seen=worn)
    assert isinstance(step, GiveUp) and step.code == "IntentUnsettled"


def test_looks_that_told_nothing_are_repeated_with_growing_gaps() -> None:
    waits = []
    for times in (1, 2):
        seen = Sightings(failures={"settle-launch": times}, failed_at={"settle-launch": NOW})
        step = settled(given.intent(), seen=seen)
        assert isinstance(step, Wait)
        waits.append(step.until - NOW)
    assert waits == [timedelta(seconds=1), timedelta(seconds=2)]


def test_without_its_provider_an_intent_waits_for_a_later_pass() -> None:
    step = settle(situation(made=given.attempt(), platforms=()), given.intent())
    assert isinstance(step, GiveUp) and step.code == "ProviderNotReady"


def test_the_lag_counts_from_the_last_time_the_call_was_sent() -> None:
    again = replace(given.intent(), opened_at=NOW + timedelta(hours=1), absences=(NOW + LAG, NOW + LAG * 2))
    assert not isinstance(settled(again, after=timedelta(hours=1)), Resend | Abandon)


@pytest.mark.parametrize("step", [StepKind.PUSH, StepKind.RENEW])
def test_a_machine_that_runs_and_does_not_answer_ends_the_pass_and_one_that_starts_is_asked_on(step: StepKind) -> None:
    worn = Sightings(failures={f"settle-{step}": 3}, failed_at={f"settle-{step}": NOW}, asked_in_vain="ssh: no route to host")
    running = settle(situation(Phase.RUNNING, given.launched(ready=True), sightings=worn), given.intent(step))
    assert running == GiveUp(code="NodeUnreachable", because="the machine runs and doesn't answer: ssh: no route to host")
    starting = settle(situation(Phase.STARTING, given.launched(), sightings=worn), given.intent(step))
    assert isinstance(starting, Wait)
