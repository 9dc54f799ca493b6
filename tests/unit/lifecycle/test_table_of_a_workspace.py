"""``next_step`` row by row: the table of lifecycle.md as far as nobody's clock and purse move it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support import situations as given
from support.situations import NOW, situation

from nodusctl.attempts.attempt import Attempt, AttemptPhase
from nodusctl.attempts.intents import StepKind
from nodusctl.lifecycle.next_step import next_step
from nodusctl.lifecycle.situation import Sightings, Situation
from nodusctl.lifecycle.steps import (
    Abandon,
    AttachHome,
    CreateDisk,
    DetachHome,
    DropEmptyDisk,
    GiveUp,
    HandOverKeys,
    Launch,
    Look,
    Mark,
    MarkKind,
    Probe,
    PushSecrets,
    QueueAttempt,
    Quiesce,
    Release,
    Resend,
    SaveHome,
    Wait,
)
from nodusctl.provider.machines import MachineState
from nodusctl.state.status import Phase

STOPPED_SPEC = given.record(spec={"state": "Stopped"})
DELETED = given.record(deletion_requested_at=NOW)
HELD = given.home(given.standing(holder=given.holder()))


def is_mark(what: MarkKind, step: object, reason: str = "") -> bool:
    return isinstance(step, Mark) and step.what is what and (not reason or step.reason == reason)


class TestPending:
    """(new) → Pending → Starting, Failed or Stopped."""

    def test_a_workspace_that_wants_capacity_gets_an_attempt_first(self) -> None:
        assert isinstance(next_step(situation()), QueueAttempt)

    def test_its_home_gets_a_disk_where_the_machine_will_stand(self) -> None:
        step = next_step(situation(made=given.attempt(), home=given.home()))
        assert isinstance(step, CreateDisk) and step.terms.zone == "us-1a"

    def test_with_the_disk_made_its_machine_is_launched_on_the_approved_terms(self) -> None:
        step = next_step(situation(made=given.attempt()))
        assert isinstance(step, Launch) and step.terms == given.terms()

    def test_without_a_home_it_is_launched_at_once(self) -> None:
        assert isinstance(next_step(situation(made=given.attempt(), home=None)), Launch)

    def test_an_empty_disk_in_another_place_is_dropped_before_anything_is_made_there(self) -> None:
        record = given.record(approval=given.approval(given.terms(zone="us-1b")))
        step = next_step(situation(made=given.attempt(), record=record))
        assert isinstance(step, DropEmptyDisk) and step.disk_id == "d-1"

    def test_a_disk_that_cannot_be_dropped_is_tried_with_gaps_and_not_for_ever(self) -> None:
        record = given.record(approval=given.approval(given.terms(zone="us-1b")))
        seen = Sightings(failures={"delete-disk": 1}, failed_at={"delete-disk": NOW})
        assert isinstance(next_step(situation(made=given.attempt(), record=record, sightings=seen)), Wait)
        worn = Sightings(failures={"delete-disk": 6}, failed_at={"delete-disk": NOW})
        assert isinstance(next_step(situation(made=given.attempt(), record=record, sightings=worn)), GiveUp)

    def test_a_stop_before_anything_is_allocated_rests_at_once(self) -> None:
        assert is_mark(MarkKind.REST, next_step(situation(made=given.attempt(), record=STOPPED_SPEC)), "Owner")

    def test_a_stop_request_stops_it_too(self) -> None:
        record = given.record(annotations={"nodus.dev/stop-requested-at": "2026-03-02T09:00:00Z"})
        assert is_mark(MarkKind.REST, next_step(situation(record=record)), "Owner")

    def test_a_delete_beats_a_stop(self) -> None:
        record = replace(STOPPED_SPEC, deletion_requested_at=NOW)
        assert is_mark(MarkKind.TERMINATE, next_step(situation(record=record)), "Deleted")

    def test_a_volume_of_another_holder_is_waited_for_without_an_attempt(self) -> None:
        busy = given.home(given.standing(holder=given.holder("another-attempt")))
        step = next_step(situation(home=busy))
        assert isinstance(step, GiveUp) and step.code == "VolumeBusy"

    def test_a_missing_volume_is_said(self) -> None:
        step = next_step(situation(home=None, home_is_missing=True))
        assert isinstance(step, GiveUp) and step.code == "NotFound"

    def test_refused_everywhere_it_waits_until_the_first_offer_comes_back(self) -> None:
        step = next_step(situation(made=given.attempt(refusals=(given.refused(),))))
        assert isinstance(step, Wait) and step.until == NOW + timedelta(minutes=1)

    def test_a_refusal_that_cannot_heal_fails_it(self) -> None:
        step = next_step(situation(made=given.attempt(refusals=(given.refused(code="Invalid", scope="request"),))))
        assert is_mark(MarkKind.FAIL, step, "Invalid")

    def test_past_its_queue_timeout_it_fails_for_want_of_capacity(self) -> None:
        record = given.record(spec={"placement": {"queueTimeout": "30s"}})
        step = next_step(situation(made=given.attempt(refusals=(given.refused(),)), record=record))
        assert is_mark(MarkKind.FAIL, step, "CapacityUnavailable")

    def test_a_cap_that_does_not_pay_a_start_fails_it_before_any_call(self) -> None:
        step = next_step(situation(made=given.attempt(), record=given.record(spec={"maxCostUSD": "0.005"})))
        assert is_mark(MarkKind.FAIL, step, "CapTooSmall")

    def test_a_refused_account_is_never_a_want_of_capacity(self) -> None:
        made = given.attempt(refusals=(given.refused(code="Unauthorized", scope="account"),))
        seen = Sightings(attempt_uid=made.uid, failures={"launch": 1})
        step = next_step(situation(made=made, sightings=seen, now=NOW + timedelta(days=40)))
        step_at_once = next_step(situation(made=made, sightings=seen))
        assert isinstance(step_at_once, GiveUp) and step_at_once.code == "ProviderNotReady"
        assert not is_mark(MarkKind.FAIL, step)

    def test_a_provider_that_is_not_loaded_is_waited_for(self) -> None:
        step = next_step(situation(made=given.attempt(), platforms=()))
        assert isinstance(step, GiveUp) and step.code == "ProviderNotReady"


class TestStarting:
    """Starting → Running, Pending or Stopping."""

    def starting(self, made: Attempt | None = None, **changes: Any) -> Situation:
        fields: dict[str, Any] = {"sightings": given.sightings(), "home": HELD, **changes}
        return situation(Phase.STARTING, made or given.launched(registered=False, attached=False), **fields)

    def test_a_booting_machine_is_not_asked_before_half_the_usual_boot(self) -> None:
        booting = given.launched(registered=False, attached=False, machine=given.machine(MachineState.PENDING))
        step = next_step(self.starting(booting, sightings=Sightings()))
        assert isinstance(step, Wait) and step.until == NOW + timedelta(seconds=22.5)

    def test_a_machine_that_ran_when_it_was_made_is_looked_at_at_once(self) -> None:
        assert isinstance(next_step(self.starting(sightings=Sightings())), Look)

    def test_then_the_machine_is_looked_at(self) -> None:
        step = next_step(self.starting(sightings=Sightings(), now=NOW + timedelta(seconds=23)))
        assert isinstance(step, Look)

    def test_a_booting_machine_is_looked_at_again_after_a_gap(self) -> None:
        booting = given.sightings(given.machine(MachineState.PENDING))
        assert isinstance(next_step(self.starting(sightings=booting)), Wait)
        assert isinstance(next_step(self.starting(sightings=booting, now=NOW + timedelta(seconds=5))), Look)

    def test_a_running_machine_gets_its_home(self) -> None:
        assert isinstance(next_step(self.starting()), AttachHome)

    def test_then_its_agent_is_asked(self) -> None:
        assert isinstance(next_step(self.starting(given.launched(registered=False))), Probe)

    def test_after_the_first_answer_the_durable_key_is_handed_over(self) -> None:
        seen = given.sightings(answer=given.answer(), asked_at=NOW)
        assert isinstance(next_step(self.starting(given.launched(registered=False), sightings=seen)), HandOverKeys)

    def test_with_the_keys_handed_over_the_environment_and_secrets_are_pushed(self) -> None:
        assert isinstance(next_step(self.starting(given.launched(pushed=False))), PushSecrets)

    def test_with_all_in_place_it_is_asked_until_its_tools_answer(self) -> None:
        assert isinstance(next_step(self.starting(given.launched())), Probe)

    def test_between_two_questions_the_machine_is_looked_at_so_that_its_death_is_noticed(self) -> None:
        seen = given.sightings(asked_at=NOW + timedelta(seconds=1))
        assert isinstance(next_step(self.starting(given.launched(), sightings=seen, now=NOW + timedelta(seconds=1))), Look)

    def test_another_host_key_loses_the_start(self) -> None:
        codes = {"hand-over-keys": "HostKeyChanged"}
        seen = given.sightings(answer=given.answer(), asked_at=NOW, failure_codes=codes)
        step = next_step(self.starting(given.launched(registered=False), sightings=seen))
        assert is_mark(MarkKind.LOSE_START, step, "HostKeyChanged")

    @pytest.mark.parametrize("state", [MachineState.STOPPED, MachineState.TERMINATED, MachineState.FAILED])
    def test_a_machine_that_ended_early_loses_the_start(self, state: MachineState) -> None:
        step = next_step(self.starting(sightings=given.sightings(given.machine(state))))
        assert is_mark(MarkKind.LOSE_START, step, "MachineLost")

    def test_past_its_bound_the_start_is_lost(self) -> None:
        late = NOW + timedelta(minutes=10)
        asked = given.sightings(looked_at=late, asked_at=late)
        assert is_mark(MarkKind.LOSE_START, next_step(self.starting(given.launched(), sightings=asked, now=late)), "StartTimeout")

    def test_past_its_bound_a_machine_that_was_not_asked_yet_in_this_pass_is_asked_first(self) -> None:
        late = NOW + timedelta(minutes=15)
        step = next_step(self.starting(given.launched(), sightings=given.sightings(looked_at=late), now=late))
        assert isinstance(step, Probe)

    def test_the_bound_is_judged_after_an_observation_of_the_same_pass(self) -> None:
        assert isinstance(next_step(self.starting(sightings=Sightings(), now=NOW + timedelta(minutes=30))), Look)

    def test_a_machine_that_may_not_be_looked_at_loses_nothing(self) -> None:
        blind = Sightings(looked_at=NOW, failures={"look": 1}, failed_at={"look": NOW}, failure_codes={"look": "Unauthorized"})
        step = next_step(self.starting(sightings=blind, now=NOW + timedelta(hours=1)))
        assert isinstance(step, GiveUp) and step.code == "ProviderNotReady"

    def test_a_look_that_told_nothing_is_repeated(self) -> None:
        blind = Sightings(looked_at=NOW, failures={"look": 1}, failed_at={"look": NOW}, failure_codes={"look": "Unavailable"})
        assert isinstance(next_step(self.starting(sightings=blind)), Wait)
        assert isinstance(next_step(self.starting(sightings=blind, now=NOW + timedelta(seconds=1))), Look)

    def test_an_absent_machine_is_lost_only_after_the_list_lag_and_two_looks(self) -> None:
        gone = given.machine(MachineState.GONE)
        step = next_step(self.starting(sightings=given.sightings(gone, gone_looks=2)))
        assert isinstance(step, Wait) and step.until == NOW + timedelta(seconds=120)
        late = NOW + timedelta(seconds=121)
        once = next_step(self.starting(sightings=given.sightings(gone, gone_looks=1, looked_at=late), now=late + timedelta(seconds=1)))
        assert isinstance(once, Look)
        twice = next_step(self.starting(sightings=given.sightings(gone, gone_looks=2, looked_at=late), now=late))
        assert is_mark(MarkKind.LOSE_START, twice, "MachineLost")

    def test_a_lost_start_is_released_before_anything_else(self) -> None:
        lost = given.stopping(given.launched(registered=False), registered_at=None)
        assert is_mark(MarkKind.SKIP_QUIESCE, next_step(self.starting(lost)))
        assert isinstance(next_step(self.starting(replace(lost, quiet_asked=True))), Release)

    def test_a_stop_beats_the_start(self) -> None:
        assert is_mark(MarkKind.BEGIN_STOP, next_step(self.starting(record=STOPPED_SPEC)), "Owner")

    def test_a_delete_beats_both(self) -> None:
        assert is_mark(MarkKind.TERMINATE, next_step(self.starting(record=DELETED)), "Deleted")


class TestRunning:
    """Running → Stopping or Terminating, and the restart."""

    def running(self, **changes: Any) -> Situation:
        return situation(Phase.RUNNING, given.launched(ready=True), **{"sightings": given.sightings(), "home": HELD, **changes})

    def test_what_an_earlier_pass_knew_is_looked_at_again(self) -> None:
        assert isinstance(next_step(self.running(sightings=Sightings())), Look)

    def test_a_healthy_machine_needs_nothing(self) -> None:
        assert next_step(self.running()) is None

    def test_an_owners_stop_begins_the_stop(self) -> None:
        assert is_mark(MarkKind.BEGIN_STOP, next_step(self.running(record=STOPPED_SPEC)), "Owner")

    def test_a_delete_begins_the_end(self) -> None:
        assert is_mark(MarkKind.TERMINATE, next_step(self.running(record=DELETED)), "Deleted")

    def test_a_restart_request_is_acted_on_once(self) -> None:
        asked = given.record(annotations={"nodus.dev/restart-requested-at": "2026-03-02T09:00:00Z"})
        assert is_mark(MarkKind.BEGIN_RESTART, next_step(self.running(record=asked)))
        handled = {"handled_requests": {"restart": "2026-03-02T09:00:00Z"}}
        assert next_step(self.running(record=asked, status=handled)) is None

    def test_a_machine_that_died_is_replaced(self) -> None:
        dead = given.sightings(given.machine(MachineState.TERMINATED, ended_at=NOW))
        assert is_mark(MarkKind.BEGIN_RECOVERY, next_step(self.running(sightings=dead)), "Interrupted")

    @pytest.mark.parametrize(
        ("bound", "reason"),
        [("lease", "LeaseEnded"), ("cap", "MaxCostReached"), ("schedule", "Schedule"), ("budget", "BudgetExceeded")],
    )
    def test_a_machine_that_ended_at_its_own_edge_says_which_edge_it_was(self, bound: str, reason: str) -> None:
        edge_at = NOW + timedelta(hours=2)
        dead = given.sightings(given.machine(MachineState.STOPPED, ended_at=edge_at))
        made = given.launched(ready=True, edge_at=edge_at, edge_bound=bound)
        step = next_step(situation(Phase.RUNNING, made, sightings=dead, now=NOW + timedelta(hours=10)))
        assert is_mark(MarkKind.BEGIN_STOP, step, reason)

    def test_a_machine_that_ended_because_nobody_used_it_says_so(self) -> None:
        idle = given.sightings(given.machine(MachineState.STOPPED, ended_at=NOW, reason="idle"))
        assert is_mark(MarkKind.BEGIN_STOP, next_step(self.running(sightings=idle)), "Idle")

    def test_a_machine_that_may_not_be_read_is_not_gone(self) -> None:
        blind = Sightings(looked_at=NOW, failures={"look": 1}, failed_at={"look": NOW}, failure_codes={"look": "Forbidden"})
        step = next_step(self.running(sightings=blind))
        assert isinstance(step, GiveUp) and step.code == "ProviderNotReady"

    def test_a_spec_that_needs_no_restart_is_only_noted(self) -> None:
        assert is_mark(MarkKind.SETTLE_SPEC, next_step(self.running(record=given.record(generation=2))))


class TestStopping:
    """Stopping and Terminating → Stopped, Pending or removed: quiet, released, detached, saved, closed, in this order."""

    def step_with(self, made: Attempt | None, phase: Phase = Phase.STOPPING, **changes: Any) -> object:
        return next_step(situation(phase, made, **{"home": HELD, "status": {"stop_reason": "Owner"}, **changes}))

    @pytest.mark.parametrize("phase", [Phase.STOPPING, Phase.TERMINATING])
    def test_the_order_of_a_stop_where_the_disk_outlives_the_machine(self, phase: Phase) -> None:
        ready = given.stopping(given.launched(ready=True))
        quiet = replace(ready, quiet_asked=True)
        gone = replace(quiet, timings=replace(quiet.timings, finished_at=NOW, deletion_proven_at=NOW))
        free = replace(gone, attached_disks=())
        settled = replace(free, home_is_settled=True)
        kinds = [type(self.step_with(made, phase)) for made in (ready, quiet, gone, free)]
        assert kinds == [Quiesce, Release, DetachHome, SaveHome]
        assert is_mark(MarkKind.CLOSE_ATTEMPT, self.step_with(settled, phase), "Succeeded")

    def test_a_home_on_the_machines_own_disk_is_saved_before_the_release(self) -> None:
        quiet = replace(given.stopping(given.launched(ready=True)), quiet_asked=True)
        own = (given.platform(disk_outlives_machine=False),)
        assert isinstance(self.step_with(quiet, platforms=own), SaveHome)
        assert isinstance(self.step_with(replace(quiet, home_is_settled=True), platforms=own), Release)

    def test_that_save_holds_the_machine_no_longer_than_its_bound(self) -> None:
        quiet = replace(given.stopping(given.launched(ready=True)), quiet_asked=True)
        own = (given.platform(disk_outlives_machine=False),)
        assert is_mark(MarkKind.GIVE_UP_SAVE, self.step_with(quiet, platforms=own, now=NOW + timedelta(minutes=15)))

    def test_a_machine_that_was_never_reached_or_is_dead_is_not_asked_to_go_quiet(self) -> None:
        never = given.stopping(given.launched(registered=False), registered_at=None)
        assert is_mark(MarkKind.SKIP_QUIESCE, self.step_with(never))
        dead = given.sightings(given.machine(MachineState.TERMINATED))
        assert is_mark(MarkKind.SKIP_QUIESCE, self.step_with(given.stopping(given.launched(ready=True)), sightings=dead))

    def test_a_session_that_was_never_ready_saves_nothing(self) -> None:
        made = given.stopping(given.launched(registered=False, attached=False), finished_at=NOW)
        assert is_mark(MarkKind.CLOSE_ATTEMPT, self.step_with(replace(made, quiet_asked=True)), "Failed")

    def test_a_home_that_is_discarded_is_not_saved(self) -> None:
        made = replace(given.stopping(given.launched(ready=True, attached=False), finished_at=NOW), quiet_asked=True)
        record = given.record(deletion_requested_at=NOW, discards_home=True)
        assert is_mark(MarkKind.CLOSE_ATTEMPT, self.step_with(made, Phase.TERMINATING, record=record))

    def test_after_three_failed_saves_the_live_disk_is_kept_and_said_so(self) -> None:
        made = replace(given.stopping(given.launched(ready=True, attached=False), finished_at=NOW), quiet_asked=True)
        worn = given.sightings(failures={"save": 3}, failed_at={"save": NOW}, asked_in_vain="the store is down")
        step = self.step_with(made, sightings=worn)
        assert is_mark(MarkKind.GIVE_UP_SAVE, step)
        assert isinstance(step, Mark) and step.message == "the store is down"

    def test_the_next_revision_follows_the_last(self) -> None:
        made = replace(given.stopping(given.launched(ready=True, attached=False), finished_at=NOW), quiet_asked=True)
        saved = given.home(given.standing(holder=given.holder(), revisions=(given.revision(1), given.revision(2))))
        step = self.step_with(made, home=saved)
        assert isinstance(step, SaveHome) and step.number == 3

    def test_nothing_allocated_closes_the_attempt_at_once(self) -> None:
        assert is_mark(MarkKind.CLOSE_ATTEMPT, self.step_with(given.attempt(), Phase.TERMINATING), "Cancelled")

    def test_a_release_that_is_still_under_way_is_asked_again_after_a_gap(self) -> None:
        quiet = replace(given.stopping(given.launched(ready=True)), quiet_asked=True)
        asked = given.sightings(failed_at={"release-pending": NOW})
        assert isinstance(self.step_with(quiet, sightings=asked), Wait)
        assert isinstance(self.step_with(quiet, sightings=asked, now=NOW + timedelta(seconds=3)), Release)

    def test_a_release_that_is_refused_stays_stopping_and_is_left_to_the_next_pass(self) -> None:
        quiet = replace(given.stopping(given.launched(ready=True)), quiet_asked=True)
        worn = given.sightings(failures={"release": 6}, failed_at={"release": NOW})
        step = self.step_with(quiet, sightings=worn)
        assert isinstance(step, GiveUp) and step.code == "ProviderNotReady"

    def test_the_stop_is_complete_once_the_attempt_is_closed(self) -> None:
        assert is_mark(MarkKind.REST, self.step_with(None), "Owner")

    def test_the_record_goes_last(self) -> None:
        assert is_mark(MarkKind.REMOVE, self.step_with(None, Phase.TERMINATING, record=DELETED))


class TestAtRest:
    """Stopped and Failed → Pending, Terminating, or nothing."""

    @pytest.mark.parametrize("phase", [Phase.STOPPED, Phase.FAILED])
    def test_nothing_happens_by_itself(self, phase: Phase) -> None:
        assert next_step(situation(phase)) is None

    @pytest.mark.parametrize("phase", [Phase.STOPPED, Phase.FAILED])
    def test_an_owners_start_begins_it(self, phase: Phase) -> None:
        asked = given.record(annotations={"nodus.dev/start-requested-at": "2026-03-02T09:00:00Z"})
        assert is_mark(MarkKind.BEGIN_START, next_step(situation(phase, record=asked)))
        assert is_mark(MarkKind.BEGIN_START, next_step(situation(phase, status={"start_is_asked": True})))

    def test_a_start_request_is_acted_on_once(self) -> None:
        asked = given.record(annotations={"nodus.dev/start-requested-at": "2026-03-02T09:00:00Z"})
        handled = {"handled_requests": {"start": "2026-03-02T09:00:00Z"}}
        assert next_step(situation(Phase.STOPPED, record=asked, status=handled)) is None

    def test_a_new_spec_heals_a_failed_one_and_only_notes_itself_on_a_stopped_one(self) -> None:
        newer = given.record(generation=2)
        assert is_mark(MarkKind.BEGIN_START, next_step(situation(Phase.FAILED, record=newer)))
        assert is_mark(MarkKind.SETTLE_SPEC, next_step(situation(Phase.STOPPED, record=newer)))

    def test_a_stop_of_a_failed_one_makes_it_stopped(self) -> None:
        assert is_mark(MarkKind.REST, next_step(situation(Phase.FAILED, record=STOPPED_SPEC)), "Owner")

    @pytest.mark.parametrize("phase", [Phase.STOPPED, Phase.FAILED])
    def test_a_delete_goes_through_terminating(self, phase: Phase) -> None:
        assert is_mark(MarkKind.TERMINATE, next_step(situation(phase, record=DELETED)), "Deleted")


class TestOpenIntents:
    """What was begun is settled before anything else, unless it no longer matters."""

    def test_an_open_intent_comes_before_everything_else(self) -> None:
        waiting = situation(made=given.launched(registered=False), record=DELETED, intents=(given.intent(StepKind.RELEASE),))
        assert isinstance(next_step(waiting), Resend)

    @pytest.mark.parametrize("step", [StepKind.HAND_OVER_KEYS, StepKind.QUIESCE])
    def test_a_push_to_a_machine_that_is_to_end_is_dropped(self, step: StepKind) -> None:
        stopped = situation(Phase.STARTING, given.launched(registered=False), record=STOPPED_SPEC, intents=(given.intent(step),))
        assert isinstance(next_step(stopped), Abandon)

    def test_a_push_is_dropped_once_the_start_took_too_long(self) -> None:
        late = situation(
            Phase.STARTING,
            given.launched(registered=False),
            intents=(given.intent(StepKind.HAND_OVER_KEYS),),
            now=NOW + timedelta(minutes=10),
        )
        assert isinstance(next_step(late), Abandon)

    def test_a_machine_that_does_not_answer_a_push_is_looked_at_and_its_death_drops_the_push(self) -> None:
        late = NOW + timedelta(seconds=5)
        unanswered = {"failures": {"settle-hand-over-keys": 3}, "failed_at": {"settle-hand-over-keys": late}}
        pushing = situation(
            Phase.STARTING,
            given.launched(registered=False),
            intents=(given.intent(StepKind.HAND_OVER_KEYS),),
            now=late,
            sightings=given.sightings(**unanswered),
        )
        assert isinstance(next_step(pushing), Look)
        alive = replace(pushing, sightings=given.sightings(looked_at=late, **unanswered))
        assert isinstance(next_step(alive), Wait)
        dead = replace(pushing, sightings=given.sightings(given.machine(MachineState.TERMINATED), looked_at=late, **unanswered))
        assert isinstance(next_step(dead), Abandon)

    def test_a_launch_proved_absent_is_not_sent_again_when_no_machine_is_wanted_any_more(self) -> None:
        late = NOW + timedelta(seconds=130)
        proved = given.intent(absences=(late, late))
        made = given.attempt(phase=AttemptPhase.PROVISIONING, terms=given.terms(), try_number=1)
        assert isinstance(next_step(situation(made=made, record=STOPPED_SPEC, intents=(proved,), now=late)), Abandon)
        assert isinstance(next_step(situation(made=made, intents=(proved,), now=late)), Resend)
