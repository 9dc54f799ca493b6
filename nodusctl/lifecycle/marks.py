"""Marks: steps that only write. Each moves a Workspace along the table of lifecycle.md, or closes what is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import AttemptClosed, AttemptQueued, Event, HomeNotSaved, StopAsked, WentQuiet
from nodusctl.lifecycle.homes import write_dropped_restore
from nodusctl.lifecycle.money import charge_of
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import Mark, MarkKind, QueueAttempt
from nodusctl.lifecycle.wanted import START_REQUEST, Aim, handled_now, is_asked, wanted
from nodusctl.lifecycle.written import Written, moved, with_condition
from nodusctl.placement.rounding import billed_seconds
from nodusctl.pricing.charge import elapsed_seconds
from nodusctl.state.records import RemoveRecord
from nodusctl.state.status import ObjectStatus, Phase, SessionSummary


def write_mark(situation: Situation, step: Mark) -> Written:
    """What a Mark writes."""
    return _MARKS[step.what](situation, step)


def write_queue(situation: Situation, step: QueueAttempt, attempt_uid: str) -> Written:
    """A new Attempt: epoch + 1, for ever; its name counts the owner's Attempts."""
    epoch = situation.status.epoch + 1
    queued = AttemptQueued(
        time=situation.now,
        object_uid=situation.uid,
        attempt_uid=attempt_uid,
        owner=situation.record.address,
        name=f"{situation.record.address.name}-{epoch}",
        slot="0",
        epoch=epoch,
    )
    status = replace(situation.status, epoch=epoch, attempt_uid=attempt_uid, reason="Queued", message="")
    status = replace(status, observed_generation=situation.record.generation, handled_requests=handled_now(situation), start_is_asked=False)
    return Written(events=(queued,), statuses={situation.uid: status})


def _terminate(situation: Situation, step: Mark) -> Written:
    status = replace(situation.status, stop_reason=situation.status.stop_reason or step.reason)
    after, events = moved(situation, status, Phase.TERMINATING, step.reason)
    return Written(events=(*events, *_stop_asked(situation, step.reason)), statuses={situation.uid: after})


def _begin_stop(situation: Situation, step: Mark) -> Written:
    status = replace(situation.status, stop_reason=situation.status.stop_reason or step.reason, handled_requests=handled_now(situation))
    status = with_condition(status, "Ready", False, step.reason, situation.now)
    after, events = moved(situation, status, Phase.STOPPING, step.reason, step.because)
    return Written(events=(*events, *_stop_asked(situation, step.reason)), statuses={situation.uid: after})


def _begin_restart(situation: Situation, step: Mark) -> Written:
    written = _begin_stop(situation, step)
    return replace(written, statuses={situation.uid: replace(written.statuses[situation.uid], start_is_asked=True)})


def _begin_start(situation: Situation, step: Mark) -> Written:
    status = replace(
        situation.status,
        stop_reason="",
        start_is_asked=False,
        attempt_uid="",
        observed_generation=situation.record.generation,
        handled_requests=handled_now(situation),
    )
    after, events = moved(situation, with_condition(status, "Stopped", False, "Started", situation.now), Phase.PENDING)
    return Written(events=events, statuses={situation.uid: after})


def _settle_spec(situation: Situation, step: Mark) -> Written:
    status = replace(
        situation.status, observed_generation=situation.record.generation, handled_requests=handled_now(situation), start_is_asked=False
    )
    return Written(statuses={situation.uid: status})


def _rest(situation: Situation, step: Mark) -> Written:
    """The end of a stop, or of a start that nothing was allocated for; a start asked for meanwhile goes on from the kept disk."""
    if wanted(situation).aim is Aim.RUN and (situation.status.start_is_asked or is_asked(situation, START_REQUEST)):
        return _begin_start(situation, step)
    status = replace(
        situation.status,
        stop_reason=situation.status.stop_reason or step.reason,
        attempt_uid="",
        start_is_asked=False,
        observed_generation=situation.record.generation,
        handled_requests=handled_now(situation),
    )
    status = with_condition(status, "Stopped", True, status.stop_reason, situation.now)
    after, events = moved(situation, status, Phase.STOPPED, status.stop_reason)
    closed = _closed(situation, "Cancelled", step.reason)
    return Written(events=(*events, *closed), statuses={situation.uid: after}, forgotten=_forgotten(situation))


def _fail(situation: Situation, step: Mark) -> Written:
    status = replace(situation.status, attempt_uid="", observed_generation=situation.record.generation, start_is_asked=False)
    status = with_condition(status, "Scheduled", False, step.reason, situation.now, message=step.message)
    after, events = moved(situation, status, Phase.FAILED, step.reason, step.message)
    closed = _closed(situation, "Failed", step.reason)
    return Written(events=(*events, *closed), statuses={situation.uid: after}, forgotten=_forgotten(situation))


def _lose_start(situation: Situation, step: Mark) -> Written:
    status = replace(situation.status, reason=step.reason, message=step.message)
    return Written(events=_stop_asked(situation, step.reason, step.message), statuses={situation.uid: status})


def _skip_quiesce(situation: Situation, step: Mark) -> Written:
    quiet = WentQuiet(
        time=situation.now, object_uid=situation.uid, attempt_uid=_attempt(situation).uid, is_quiet=False, detail=step.because
    )
    return Written(events=(quiet,))


def _give_up_save(situation: Situation, step: Mark) -> Written:
    assert situation.home is not None
    revision = situation.home.standing.disk_revision
    message = f"disk newer than revision {revision}: {step.message}" if step.message else f"disk newer than revision {revision}"
    lost = HomeNotSaved(
        time=situation.now,
        object_uid=situation.uid,
        attempt_uid=_attempt(situation).uid,
        volume=situation.home.record.address,
        reason=message,
    )
    status = with_condition(situation.status, "StateSaved", False, "SaveFailed", situation.now, message=message)
    return Written(events=(lost,), statuses={situation.uid: status})


def _close_attempt(situation: Situation, step: Mark) -> Written:
    """Close the Attempt and free the home if it holds it; the phase stays, for what follows the stop is another step."""
    attempt = _attempt(situation)
    status = replace(situation.status, attempt_uid="", last_session=_summary(situation, attempt) or situation.status.last_session)
    events: tuple[Event, ...] = ()
    if situation.status.phase is Phase.STARTING:
        status, events = moved(situation, status, Phase.PENDING, attempt.stop_reason, situation.status.message)
    statuses: dict[str, ObjectStatus] = {situation.uid: status}
    if situation.home is not None and _holds_home(situation, attempt):
        standing = replace(situation.home.standing, holder=None)
        statuses[situation.home.record.uid] = replace(situation.home.status, volume=standing, phase=Phase.READY)
    ending = "Failed" if situation.status.stop_reason == "Interrupted" else step.reason
    closed = _closed(situation, ending, attempt.stop_reason or step.reason)
    return Written(events=(*closed, *events), statuses=statuses, forgotten=_forgotten(situation))


def _holds_home(situation: Situation, attempt: Attempt) -> bool:
    holder = situation.home.standing.holder if situation.home is not None else None
    return holder is not None and holder.attempt_uid == attempt.uid


def _forgotten(situation: Situation) -> tuple[str, ...]:
    """Vault names of an Attempt that is over."""
    attempt = situation.attempt
    if attempt is None:
        return ()
    boots = (f"boot/{attempt.uid}/{number}" for number in range(1, attempt.try_number + 1))
    return (f"service-key/{attempt.uid}", f"jupyter-token/{attempt.uid}", *boots)


def _remove(situation: Situation, step: Mark) -> Written:
    return Written(records=(RemoveRecord(situation.uid),), forgotten=(f"host-key/{situation.uid}",))


def _summary(situation: Situation, attempt: Attempt) -> SessionSummary | None:
    ended_at, began_at, terms = attempt.timings.finished_at, attempt.timings.billing_started_at, attempt.terms
    if ended_at is None or began_at is None or terms is None:
        return None
    seconds = billed_seconds(elapsed_seconds(ended_at - began_at), terms.increment_seconds, terms.minimum_seconds)
    return SessionSummary(
        attempt=attempt.name,
        started_at=attempt.timings.ready_at,
        ended_at=ended_at,
        billed_seconds=int(-(-seconds // 1)),
        charge_usd=charge_of(attempt, ended_at),
        stop_reason=situation.status.stop_reason or attempt.stop_reason,
    )


def _stop_asked(situation: Situation, reason: str, detail: str = "") -> tuple[StopAsked, ...]:
    attempt = situation.attempt
    if attempt is None or not attempt.is_open or attempt.timings.stop_asked_at is not None:
        return ()
    return (StopAsked(time=situation.now, object_uid=situation.uid, attempt_uid=attempt.uid, reason=reason, detail=detail),)


def _closed(situation: Situation, phase: str, reason: str) -> tuple[AttemptClosed, ...]:
    attempt = situation.attempt
    if attempt is None or not attempt.is_open:
        return ()
    return (AttemptClosed(time=situation.now, object_uid=situation.uid, attempt_uid=attempt.uid, phase=phase, reason=reason),)


def _attempt(situation: Situation) -> Attempt:
    assert situation.attempt is not None, "only a Workspace with an Attempt comes here"
    return situation.attempt


_MARKS: dict[MarkKind, Callable[[Situation, Mark], Written]] = {
    MarkKind.TERMINATE: _terminate,
    MarkKind.BEGIN_STOP: _begin_stop,
    MarkKind.BEGIN_RESTART: _begin_restart,
    MarkKind.BEGIN_START: _begin_start,
    MarkKind.SETTLE_SPEC: _settle_spec,
    MarkKind.REST: _rest,
    MarkKind.FAIL: _fail,
    MarkKind.LOSE_START: _lose_start,
    MarkKind.SKIP_QUIESCE: _skip_quiesce,
    MarkKind.GIVE_UP_SAVE: _give_up_save,
    MarkKind.CLOSE_ATTEMPT: _close_attempt,
    MarkKind.REMOVE: _remove,
    MarkKind.DROP_RESTORE: write_dropped_restore,
}
