"""From a reply to what is written: the same for a call and for a look-up, and never more than the reply proves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from support import situations as given
from support.situations import LAB_UID, NOW, situation

from nodusctl.attempts.events import BecameReady, CapacityEnded, LaunchRefused, MachineSeen, OutcomeUnknown, ReleaseAsked
from nodusctl.attempts.intents import IntentState, StepKind
from nodusctl.base.money import Money
from nodusctl.executor.concluding import abandoned, after_look, after_probe, conclude, conclude_lookup
from nodusctl.lifecycle.money import hold_for_launch
from nodusctl.lifecycle.situation import Situation
from nodusctl.provider.agent import ToolAnswer
from nodusctl.provider.machines import Disk, DiskState, MachineState, Release, ReleaseState
from nodusctl.provider.replies import Done, Refused, Scope, Unknown
from nodusctl.state.status import Phase

LATER = NOW + timedelta(hours=1)
LAUNCHING = given.attempt(terms=given.terms(), try_number=1)
HOLD = hold_for_launch(LAUNCHING, 1, Money.parse("1.60"), NOW)


def pending() -> Situation:
    return situation(made=LAUNCHING, entries=HOLD, intents=(given.intent(),), home=given.home(given.standing(holder=given.holder())))


def stopping(**changes: object) -> Situation:
    made = replace(given.stopping(given.launched(ready=True)), quiet_asked=True)
    return situation(Phase.STOPPING, made, now=LATER, **changes)  # type: ignore[arg-type]


class TestLaunch:
    def test_an_unknown_outcome_leaves_the_intent_open_and_is_said_once(self) -> None:
        first = conclude(pending(), given.intent(), Unknown("timed out"))
        assert first.intent.state is IntentState.OPEN
        assert [type(event) for event in first.written.events] == [OutcomeUnknown]
        assert first.written.entries == (), "the hold stays"
        again = conclude(pending(), first.intent, Unknown("timed out"))
        assert again.written.events == ()

    def test_a_refusal_gives_the_hold_and_the_home_back(self) -> None:
        outcome = conclude(pending(), given.intent(), Refused("CapacityUnavailable", Scope.ZONE, "sold out"))
        (event,) = outcome.written.events
        assert isinstance(event, LaunchRefused) and (event.offer_key, event.scope) == ("sim/us-1a/cpu-4c-16g-us", "zone")
        assert [entry.kind for entry in outcome.written.entries] == ["release"]
        volume = outcome.written.statuses[given.HOME_UID].volume
        assert volume is not None and volume.holder is None
        assert not outcome.brought_nothing

    def test_a_refused_account_counts_as_a_failure_of_this_pass(self) -> None:
        assert conclude(pending(), given.intent(), Refused("Unauthorized", Scope.ACCOUNT)).brought_nothing

    @pytest.mark.parametrize("concluding", [conclude, conclude_lookup])
    def test_a_machine_found_is_a_machine_made(self, concluding: object) -> None:
        outcome = concluding(pending(), given.intent(), Done(given.machine(MachineState.PENDING)))  # type: ignore[operator]
        assert outcome.intent.state is IntentState.CLOSED
        assert outcome.written.statuses[LAB_UID].phase is Phase.STARTING

    def test_an_absence_is_only_noted(self) -> None:
        outcome = conclude_lookup(pending(), given.intent(), Done(None))
        assert (outcome.intent.state, outcome.intent.absences) == (IntentState.OPEN, (NOW,))

    def test_a_look_up_that_was_refused_proves_nothing(self) -> None:
        outcome = conclude_lookup(pending(), given.intent(), Refused("Unauthorized", Scope.ACCOUNT))
        assert (outcome.intent.state, outcome.intent.absences) == (IntentState.OPEN, ())

    def test_an_answer_of_the_wrong_kind_is_unknown(self) -> None:
        assert conclude(pending(), given.intent(), Done(Disk(id="d-1", state=DiskState.READY))).intent.state is IntentState.OPEN

    @pytest.mark.parametrize("step", [StepKind.LAUNCH, StepKind.CREATE_DISK])
    def test_what_is_proved_absent_is_a_refused_try(self, step: StepKind) -> None:
        outcome = abandoned(pending(), given.intent(step))
        assert [type(event) for event in outcome.written.events] == [LaunchRefused]

    def test_a_refused_disk_leaves_the_holder_alone(self) -> None:
        outcome = conclude(pending(), given.intent(StepKind.CREATE_DISK), Refused("QuotaExceeded", Scope.ACCOUNT))
        assert given.HOME_UID not in outcome.written.statuses


class TestRelease:
    def release(self, reply: object, **changes: object) -> object:
        return conclude(stopping(**changes), given.intent(StepKind.RELEASE), reply)  # type: ignore[arg-type]

    def test_still_releasing_is_not_released(self) -> None:
        outcome = conclude(stopping(), given.intent(StepKind.RELEASE), Done(Release(state=ReleaseState.RELEASING)))
        assert outcome.is_pending
        assert [type(event) for event in outcome.written.events] == [ReleaseAsked]
        assert outcome.written.entries == ()

    def test_gone_posts_the_final_charge_in_the_same_commit(self) -> None:
        gone = Release(state=ReleaseState.GONE, ended_at=NOW + timedelta(minutes=30))
        outcome = conclude(stopping(), given.intent(StepKind.RELEASE), Done(gone))
        (ended,) = outcome.written.events
        assert isinstance(ended, CapacityEnded) and (ended.ended_at, ended.is_estimated) == (NOW + timedelta(minutes=30), False)
        assert [entry.kind for entry in outcome.written.entries] == ["capture"]

    def test_not_found_is_gone_when_it_was_last_seen_alive(self) -> None:
        """Rule R5: this account has shown us the machine. Where its provider forgot it, nobody pays past the last look."""
        looked_at = LATER - timedelta(minutes=5)
        outcome = conclude(stopping(last_pass_at=looked_at), given.intent(StepKind.RELEASE), Refused("NotFound"))
        (ended,) = outcome.written.events
        assert isinstance(ended, CapacityEnded) and (ended.ended_at, ended.is_estimated) == (looked_at, True)

    def test_not_found_after_our_own_ask_ends_now_at_the_latest(self) -> None:
        before = stopping()
        assert before.attempt is not None
        asked = replace(before, attempt=replace(before.attempt, release_asked=True))
        (ended,) = conclude(asked, given.intent(StepKind.RELEASE), Refused("NotFound")).written.events
        assert isinstance(ended, CapacityEnded) and (ended.ended_at, ended.is_estimated) == (LATER, True)

    def test_an_end_nobody_saw_is_never_estimated_past_the_armed_edge_and_the_stop_bound(self) -> None:
        late = replace(stopping(), now=NOW + timedelta(days=3), last_pass_at=NOW + timedelta(days=2))
        (ended,) = conclude(late, given.intent(StepKind.RELEASE), Refused("NotFound")).written.events
        assert isinstance(ended, CapacityEnded) and ended.ended_at == NOW + timedelta(hours=8, seconds=60)

    @pytest.mark.parametrize("code", ["Unauthorized", "Forbidden", "Unavailable"])
    def test_any_other_refusal_is_not_gone(self, code: str) -> None:
        outcome = conclude(stopping(), given.intent(StepKind.RELEASE), Refused(code))
        assert outcome.brought_nothing
        assert outcome.written.events == ()


class TestReadings:
    def test_a_look_that_is_refused_says_nothing_of_the_machine(self) -> None:
        seen, written = after_look(situation(Phase.RUNNING, given.launched(ready=True)), given.sightings(), Refused("Unauthorized"))
        assert (seen.machine, seen.failures, written) == (given.machine(), {"look": 1}, None)

    def test_an_unreadable_machine_is_not_gone(self) -> None:
        hidden = given.machine(MachineState.UNREADABLE)
        seen, _ = after_look(situation(Phase.RUNNING, given.launched(ready=True)), given.sightings(), Done(hidden))
        assert (seen.gone_looks, seen.machine) == (0, given.machine())

    def test_a_host_that_can_not_be_asked_is_no_refusal_and_its_words_are_kept(self) -> None:
        silent = given.machine(MachineState.UNREADABLE, reason="Unavailable", reason_detail="no route to host")
        seen, _ = after_look(situation(Phase.RUNNING, given.launched(ready=True)), given.sightings(), Done(silent))
        assert (seen.failure_codes["look"], seen.asked_in_vain, seen.machine) == ("Unavailable", "no route to host", given.machine())

    def test_looks_that_find_nothing_are_counted_and_one_that_does_starts_over(self) -> None:
        at = situation(Phase.RUNNING, given.launched(ready=True))
        once, _ = after_look(at, given.sightings(), Done(given.machine(MachineState.GONE)))
        twice, _ = after_look(at, once, Done(given.machine(MachineState.GONE)))
        back, _ = after_look(at, twice, Done(given.machine()))
        assert (once.gone_looks, twice.gone_looks, back.gone_looks) == (1, 2, 0)

    def test_a_report_is_written_only_where_it_says_something_new(self) -> None:
        at = situation(Phase.RUNNING, given.launched(ready=True))
        assert after_look(at, given.sightings(), Done(given.machine(tags={"etag": "W/2"})))[1] is None
        written = after_look(at, given.sightings(), Done(given.machine(MachineState.STOPPED, ended_at=NOW)))[1]
        assert written is not None and [type(event) for event in written.events] == [MachineSeen]

    def test_ready_needs_every_tool_and_an_armed_edge(self) -> None:
        at = situation(Phase.STARTING, given.launched(), sightings=given.sightings())
        silent = (ToolAnswer(name="SSH", has_answered=False, seen="connection refused"),)
        for answer, why in (
            (given.answer(remaining_seconds=None), "the machine has no armed edge"),
            (given.answer(tools=silent), "SSH has not answered (connection refused)"),
            (given.answer(tools=()), "SSH has not answered"),
        ):
            seen, written = after_probe(at, given.sightings(), Done(answer), ("SSH",))
            assert (seen.asked_in_vain, written) == (why, None)
        _, written = after_probe(at, given.sightings(), Done(given.answer()), ("SSH",))
        assert written is not None and any(isinstance(event, BecameReady) for event in written.events)

    @pytest.mark.parametrize("phase", [Phase.RUNNING, Phase.STOPPING, Phase.TERMINATING])
    def test_a_late_answer_never_brings_a_workspace_back_to_running(self, phase: Phase) -> None:
        at = situation(phase, given.launched(), sightings=given.sightings())
        assert after_probe(at, given.sightings(), Done(given.answer()), ("SSH",))[1] is None

    def test_ready_is_never_before_the_machine_was_accepted_or_in_the_future(self) -> None:
        at = situation(Phase.STARTING, given.launched(), sightings=given.sightings(), now=LATER)
        for said, taken in ((NOW - timedelta(days=1), NOW), (LATER + timedelta(days=1), LATER)):
            written = after_probe(at, given.sightings(), Done(given.answer(ready_at=said)), ("SSH",))[1]
            assert written is not None
            ready = next(event for event in written.events if isinstance(event, BecameReady))
            assert ready.ready_at == taken
