"""A machine proved dead is replaced, or its session ends (lifecycle.md, "Proof of death" and the table's rows on Recovering)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support import situations as given
from support.situations import NOW, situation

from nodusctl.attempts.attempt import Interruption
from nodusctl.lifecycle.marks import write_mark, write_queue
from nodusctl.lifecycle.next_step import next_step
from nodusctl.lifecycle.situation import Sightings, Situation
from nodusctl.lifecycle.steps import GiveUp, Look, Mark, MarkKind, QueueAttempt, Release, Wait
from nodusctl.provider.machines import MachineState
from nodusctl.state.requests import DEATH_REQUEST, death_request
from nodusctl.state.status import Phase, SessionStanding

MINUTE = timedelta(minutes=1)
HELD = given.home(given.standing(holder=given.holder()))
LOST = given.sightings(given.machine(MachineState.TERMINATED, ended_at=NOW + 60 * MINUTE, reason="HostFailed"), looked_at=NOW + 61 * MINUTE)


def dead(**changes: Any) -> Situation:
    """``lab`` an hour into its session, a minute after its machine was terminated."""
    session = changes.pop("session", SessionStanding(began_at=NOW, ready_at=NOW))
    wanted = {"now": NOW + 61 * MINUTE, "sightings": LOST, "home": HELD, "status": {"session": session}, **changes}
    return situation(Phase.RUNNING, given.launched(ready=True, edge_bound="lease"), **wanted)


def mark_of(made: Situation) -> Mark:
    step = next_step(made)
    assert isinstance(step, Mark), step
    return step


def test_a_lost_machine_with_a_home_is_replaced() -> None:
    assert mark_of(dead()).what is MarkKind.BEGIN_RECOVERY


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"home": None, "record": given.record(spec={"ephemeral": True, "volume": None})}, "ephemeral", id="ephemeral"),
        pytest.param({"session": SessionStanding(began_at=NOW, recoveries=3)}, "3 times", id="used up"),
        pytest.param({"now": NOW + 91 * MINUTE}, "too late", id="noticed 31 minutes later"),
    ],
)
def test_it_is_not_replaced_and_says_why(changes: dict[str, Any], said: str) -> None:
    mark = mark_of(dead(**changes))
    assert (mark.what, mark.reason) == (MarkKind.BEGIN_STOP, "Interrupted")
    assert said in mark.message


def test_a_machine_lost_after_its_time_was_over_is_no_loss() -> None:
    over = dead(record=given.record(spec={"schedule": {"stopAt": "2026-03-02T10:00:30Z"}}))
    assert mark_of(over).what is MarkKind.BEGIN_STOP


def test_an_absence_without_a_time_counts_from_the_last_pass_that_saw_it() -> None:
    gone = given.sightings(given.machine(MachineState.GONE), gone_looks=2, looked_at=NOW + 61 * MINUTE)
    fresh = dead(sightings=gone, last_pass_at=NOW + 56 * MINUTE)
    assert mark_of(fresh).what is MarkKind.BEGIN_RECOVERY
    assert mark_of(dead(sightings=gone, last_pass_at=NOW + 30 * MINUTE)).what is MarkKind.BEGIN_STOP


def test_one_absence_is_no_proof() -> None:
    step = next_step(dead(sightings=given.sightings(given.machine(MachineState.GONE), gone_looks=1, looked_at=NOW + 61 * MINUTE)))
    assert isinstance(step, Look | Wait)


def test_a_machine_that_only_does_not_answer_is_alive() -> None:
    impaired = given.sightings(given.machine(impaired="its status check fails"), looked_at=NOW + 61 * MINUTE)
    step = next_step(dead(sightings=impaired))
    assert not isinstance(step, Mark) or step.what not in {MarkKind.BEGIN_RECOVERY, MarkKind.BEGIN_STOP}


def test_its_owner_may_say_that_it_is_dead() -> None:
    alive = given.sightings(looked_at=NOW + 61 * MINUTE)
    said = given.record(annotations={DEATH_REQUEST: death_request("i-1", NOW)})
    assert mark_of(dead(sightings=alive, record=said)).what is MarkKind.BEGIN_RECOVERY
    of_another = given.record(annotations={DEATH_REQUEST: death_request("i-0", NOW)})
    assert next_step(dead(sightings=alive, record=of_another)) is None


def test_an_unseen_machine_is_dead_five_minutes_after_its_enforced_edge() -> None:
    blind = Sightings(
        attempt_uid=given.ATTEMPT_UID, looked_at=NOW, failures={"look": 1}, failed_at={"look": NOW}, failure_codes={"look": "Unavailable"}
    )
    edge = timedelta(hours=8)
    assert mark_of(dead(sightings=blind, now=NOW + edge + 6 * MINUTE)).reason == "LeaseEnded"
    kept = given.platform(self_stop_ends_billing=False)
    before = next_step(dead(sightings=blind, now=NOW + 7 * MINUTE, platforms=[kept]))
    assert isinstance(before, Wait | Look | GiveUp)


def recovering(made: Situation) -> Situation:
    """What stands after the recovery began."""
    written = write_mark(made, mark_of(made))
    return replace(made, status=written.statuses[made.uid])


def test_the_loss_is_recorded_with_its_trigger_and_how_long_nobody_noticed() -> None:
    made = dead()
    written = write_mark(made, mark_of(made))
    lost = next(event for event in written.events if type(event).__name__ == "Interrupted")
    assert (lost.trigger, lost.ended_at, lost.lost_seconds) == ("HostFailed", NOW + 60 * MINUTE, 60)  # type: ignore[attr-defined]
    status = written.statuses[made.uid]
    assert (status.phase, status.session and status.session.recoveries) == (Phase.RECOVERING, 1)


def test_the_dead_machine_is_released_before_another_is_asked_for() -> None:
    made = recovering(dead())
    assert made.attempt is not None
    stopped = replace(
        made.attempt, stop_reason="Interrupted", quiet_asked=True, interruption=Interruption(trigger="x", time=NOW, lost_seconds=60)
    )
    assert isinstance(next_step(replace(made, attempt=stopped)), Release)


def test_the_next_attempt_takes_over_the_session_with_a_higher_epoch() -> None:
    made = recovering(dead())
    assert made.attempt is not None
    lost = replace(made.attempt, interruption=Interruption(trigger="x", time=NOW, lost_seconds=60))
    free = replace(
        made, attempt=None, earlier=(lost,), status=replace(made.status, attempt_uid="", epoch=1), sightings=Sightings(), home=None
    )
    step = next_step(replace(free, record=given.record(spec={"ephemeral": True, "volume": None})))
    assert isinstance(step, QueueAttempt)
    queued = write_queue(free, step, "uid-2").events[0]
    assert (queued.epoch, queued.replaces) == (2, lost.uid)  # type: ignore[union-attr]


def test_a_stop_beats_a_recovery() -> None:
    made = recovering(dead())
    asked = replace(made, record=given.record(spec={"state": "Stopped"}))
    assert mark_of(asked).what is MarkKind.BEGIN_STOP
