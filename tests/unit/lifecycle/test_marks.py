"""What a Mark writes: the phase it moves to, the event that says so, and nothing of anybody else's."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from support import situations as given
from support.situations import HOME_UID, LAB_UID, NOW, situation

from nodusctl.attempts.events import AttemptClosed, AttemptQueued, HomeNotSaved, PhaseChanged, StopAsked, WentQuiet
from nodusctl.base.money import Money
from nodusctl.lifecycle.marks import write_mark, write_queue
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import Mark, MarkKind, QueueAttempt
from nodusctl.lifecycle.written import Written
from nodusctl.state.records import RemoveRecord
from nodusctl.state.status import ObjectStatus, Phase

HELD = given.home(given.standing(holder=given.holder()))


def written(what: MarkKind, at: Situation, reason: str = "Owner", message: str = "") -> Written:
    return write_mark(at, Mark(what=what, reason=reason, message=message, because="a test"))


def after(what: MarkKind, at: Situation, reason: str = "Owner") -> ObjectStatus:
    return written(what, at, reason).statuses[LAB_UID]


def running(**changes: object) -> Situation:
    return situation(Phase.RUNNING, given.launched(ready=True), **{"home": HELD, **changes})  # type: ignore[arg-type]


def test_a_queued_attempt_has_the_next_epoch_and_a_name_that_counts() -> None:
    made = write_queue(situation(status={"epoch": 4}), QueueAttempt(because="a test"), "uid-new")
    (queued,) = made.events
    assert isinstance(queued, AttemptQueued) and (queued.name, queued.epoch) == ("lab-5", 5)
    assert (made.statuses[LAB_UID].epoch, made.statuses[LAB_UID].attempt_uid) == (5, "uid-new")


def test_a_stop_moves_to_stopping_and_keeps_its_first_reason() -> None:
    status = after(MarkKind.BEGIN_STOP, running(status={"stop_reason": "Idle"}), "Owner")
    assert (status.phase, status.stop_reason) == (Phase.STOPPING, "Idle")


def test_a_stop_is_told_to_the_attempt_once() -> None:
    kinds = [type(event) for event in written(MarkKind.BEGIN_STOP, running()).events]
    assert kinds == [PhaseChanged, StopAsked]
    again = running()
    again = replace(again, attempt=given.stopping(given.launched(ready=True)))
    assert [type(event) for event in written(MarkKind.BEGIN_STOP, again).events] == [PhaseChanged]


def test_a_restart_is_a_stop_that_asks_for_a_start() -> None:
    status = after(MarkKind.BEGIN_RESTART, running())
    assert (status.phase, status.start_is_asked) == (Phase.STOPPING, True)


@pytest.mark.parametrize("start", [{"status": {"start_is_asked": True}}, {"annotation": "2026-03-02T09:00:01Z"}])
def test_the_end_of_a_stop_goes_on_to_a_start_that_was_asked_for_meanwhile(start: dict[str, object]) -> None:
    record = given.record(annotations={"nodus.dev/start-requested-at": str(start.get("annotation", ""))})
    status = after(MarkKind.REST, situation(Phase.STOPPING, record=record, status=start.get("status")))  # type: ignore[arg-type]
    assert (status.phase, status.stop_reason) == (Phase.PENDING, "")


def test_a_stop_beats_a_start_that_was_asked_for_before() -> None:
    record = given.record(spec={"state": "Stopped"}, annotations={"nodus.dev/start-requested-at": "2026-03-02T09:00:01Z"})
    assert after(MarkKind.REST, situation(Phase.STOPPING, record=record)).phase is Phase.STOPPED


def test_resting_before_a_machine_closes_the_attempt_and_forgets_its_secrets() -> None:
    made = written(MarkKind.REST, situation(made=given.attempt(try_number=2)))
    assert [event.phase for event in made.events if isinstance(event, AttemptClosed)] == ["Cancelled"]
    assert {"service-key/uid-attempt", "boot/uid-attempt/1", "boot/uid-attempt/2"} <= set(made.forgotten)


def test_failing_closes_the_attempt_says_why_and_forgets_its_secrets() -> None:
    made = written(MarkKind.FAIL, situation(made=given.attempt(try_number=1)), "CapacityUnavailable", "sold out")
    status = made.statuses[LAB_UID]
    assert (status.phase, status.reason, status.message) == (Phase.FAILED, "CapacityUnavailable", "sold out")
    assert "boot/uid-attempt/1" in made.forgotten


def test_closing_an_attempt_frees_the_home_it_holds() -> None:
    made = written(MarkKind.CLOSE_ATTEMPT, situation(Phase.STOPPING, given.launched(ready=True), home=HELD), "Succeeded")
    volume = made.statuses[HOME_UID].volume
    assert volume is not None and volume.holder is None
    assert made.statuses[LAB_UID].attempt_uid == ""


def test_closing_an_attempt_never_frees_a_home_that_another_holds() -> None:
    others = given.home(given.standing(holder=given.holder("another-attempt")))
    made = written(MarkKind.CLOSE_ATTEMPT, situation(Phase.TERMINATING, given.attempt(), home=others), "Cancelled")
    assert HOME_UID not in made.statuses


def test_a_lost_start_goes_back_to_pending_once_it_is_closed() -> None:
    made = given.stopping(given.launched(), finished_at=NOW)
    assert after(MarkKind.CLOSE_ATTEMPT, situation(Phase.STARTING, made, home=HELD), "Failed").phase is Phase.PENDING


def test_a_closed_session_is_summed_up() -> None:
    made = given.launched(ready=True)
    made = replace(made, timings=replace(made.timings, finished_at=NOW + timedelta(hours=1)))
    summary = after(MarkKind.CLOSE_ATTEMPT, situation(Phase.STOPPING, made, status={"stop_reason": "Owner"}), "Succeeded").last_session
    assert summary is not None
    assert (summary.billed_seconds, summary.charge_usd, summary.stop_reason) == (3600, Money.parse("0.20"), "Owner")


def test_a_save_given_up_says_which_revision_the_disk_is_newer_than() -> None:
    home = given.home(given.standing(holder=given.holder(), revisions=(given.revision(3),)))
    made = written(MarkKind.GIVE_UP_SAVE, running(home=home), message="the store is down")
    (lost,) = made.events
    assert isinstance(lost, HomeNotSaved) and lost.reason == "disk newer than revision 3: the store is down"
    condition = next(one for one in made.statuses[LAB_UID].conditions if one.type == "StateSaved")
    assert (condition.status, condition.reason) == ("False", "SaveFailed")


def test_a_quiesce_that_is_skipped_says_that_the_machine_was_not_asked() -> None:
    (quiet,) = written(MarkKind.SKIP_QUIESCE, running()).events
    assert isinstance(quiet, WentQuiet) and not quiet.is_quiet


def test_beginning_a_start_forgets_the_last_stop_and_takes_the_request_as_done() -> None:
    record = given.record(annotations={"nodus.dev/start-requested-at": "2026-03-02T09:00:00Z"})
    status = after(MarkKind.BEGIN_START, situation(Phase.STOPPED, record=record, status={"stop_reason": "Owner"}))
    assert (status.phase, status.stop_reason, status.handled_requests) == (Phase.PENDING, "", {"start": "2026-03-02T09:00:00Z"})


def test_removing_takes_the_record_and_its_durable_key() -> None:
    made = written(MarkKind.REMOVE, situation(Phase.TERMINATING))
    assert made.records == (RemoveRecord(LAB_UID),)
    assert made.forgotten == ("host-key/uid-lab",)
