"""Marks: steps that only write. Each moves a Workspace along the table of lifecycle.md, or closes what is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import (
    AttemptClosed,
    AttemptQueued,
    Event,
    HomeNotSaved,
    Interrupted,
    StopAsked,
    WentQuiet,
)
from nodusctl.lifecycle.funding import refused_money
from nodusctl.lifecycle.homes import write_dropped_restore
from nodusctl.lifecycle.money import charge_of
from nodusctl.lifecycle.occurrences import passed_over, unstarted, with_skip
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import Mark, MarkKind, QueueAttempt
from nodusctl.lifecycle.vanishing import when_died
from nodusctl.lifecycle.volume_outcomes import storage_posted
from nodusctl.lifecycle.wanted import Aim, handled_now, is_asked, wanted
from nodusctl.lifecycle.windows import has_openings, unused_until, windows_digest, with_used
from nodusctl.lifecycle.written import Written, moved, with_condition
from nodusctl.placement.rounding import billed_seconds
from nodusctl.pricing.charge import elapsed_seconds
from nodusctl.state.records import RemoveRecord
from nodusctl.state.requests import START_REQUEST, STOP_REQUEST, is_wake
from nodusctl.state.status import ObjectStatus, Phase, SessionStanding, SessionSummary, StopReason, WindowsStanding

_STOP_REASONS = frozenset(str(reason) for reason in StopReason)


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
        replaces=_replaced(situation),
    )
    session = situation.status.session or SessionStanding(began_at=situation.now)
    status = replace(situation.status, epoch=epoch, attempt_uid=attempt_uid, reason="Queued", message="", session=session)
    status = replace(status, observed_generation=situation.record.generation, handled_requests=handled_now(situation), start_is_asked=False)
    return Written(events=(queued,), statuses={situation.uid: status})


def _replaced(situation: Situation) -> str:
    """The Attempt of this session whose machine was lost last; empty outside a recovery."""
    session = situation.status.session
    if session is None or not session.recoveries:
        return ""
    return next((one.uid for one in reversed(situation.earlier) if one.interruption is not None), "")


def _terminate(situation: Situation, step: Mark) -> Written:
    status = replace(situation.status, stop_reason=situation.status.stop_reason or step.reason)
    after, events = moved(situation, status, Phase.TERMINATING, step.reason)
    return Written(events=(*events, *_stop_asked(situation, step.reason)), statuses={situation.uid: after})


def _begin_stop(situation: Situation, step: Mark) -> Written:
    status = replace(situation.status, stop_reason=situation.status.stop_reason or step.reason, handled_requests=handled_now(situation))
    status = with_condition(status, "Ready", False, step.reason, situation.now)
    status = refused_money(status, step.reason, situation.now, step.message or step.because)
    after, events = moved(situation, status, Phase.STOPPING, step.reason, step.message or step.because)
    return Written(events=(*events, *_stop_asked(situation, step.reason, step.message)), statuses={situation.uid: after})


def _begin_restart(situation: Situation, step: Mark) -> Written:
    written = _begin_stop(situation, step)
    return replace(written, statuses={situation.uid: replace(written.statuses[situation.uid], start_is_asked=True)})


def _begin_start(situation: Situation, step: Mark) -> Written:
    opening = step.opening
    is_woken = is_asked(situation, START_REQUEST) and is_wake(situation.record.annotations)
    session = SessionStanding(began_at=situation.now, trigger="wake" if is_woken else "owner")
    windows = situation.status.windows
    if opening is not None:
        session = replace(session, trigger="window", occurrence=opening.id)
        windows = with_used(windows, opening) if windows is not None else None
    status = replace(
        situation.status,
        session=session,
        windows=windows,
        stop_reason="",
        start_is_asked=False,
        attempt_uid="",
        observed_generation=situation.record.generation,
        handled_requests=handled_now(situation),
    )
    after, events = moved(situation, with_condition(status, "Stopped", False, "Started", situation.now), Phase.PENDING)
    return Written(events=events, statuses={situation.uid: after})


def _begin_recovery(situation: Situation, step: Mark) -> Written:
    """The machine is given up for dead; the session goes on, and what follows is finding it another one."""
    attempt, machine = _attempt(situation), situation.sightings.machine
    died_at = when_died(situation) or situation.now
    lost = Interrupted(
        time=situation.now,
        object_uid=situation.uid,
        attempt_uid=attempt.uid,
        trigger=(machine.reason if machine is not None else "") or "MachineLost",
        ended_at=died_at,
        lost_seconds=max(int((situation.now - died_at).total_seconds()), 0),
    )
    session = situation.status.session or SessionStanding(began_at=attempt.timings.queued_at)
    status = replace(situation.status, session=replace(session, recoveries=session.recoveries + 1))
    status = with_condition(status, "Ready", False, "MachineLost", situation.now)
    after, events = moved(situation, status, Phase.RECOVERING, "MachineLost", step.because)
    return Written(events=(lost, *events, *_stop_asked(situation, step.reason)), statuses={situation.uid: after})


def _skip_start(situation: Situation, step: Mark) -> Written:
    """A start nobody watches, and for which there is no price or no money: nothing was allocated, and it rests with the reason."""
    is_lost = situation.status.phase is Phase.RECOVERING
    reason = step.reason if step.reason in _STOP_REASONS else str(StopReason.INTERRUPTED) if is_lost else ""
    if _goes_on(situation):
        return _begin_start(situation, step)
    rest = _rested(situation, replace(step, reason=reason))
    status = replace(rest.statuses[situation.uid], reason=step.reason, message=step.message)
    status = refused_money(status, step.reason, situation.now, step.message)
    return _with_skip(situation, replace(rest, statuses={situation.uid: status}), step.reason, step.message)


def _with_skip(situation: Situation, written: Written, reason: str, message: str) -> Written:
    """The same, and the skip of the opening that asked for this session, where it never got a machine."""
    occurrence = unstarted(situation)
    if not occurrence:
        return written
    status = written.statuses[situation.uid]
    status = replace(status, windows=with_skip(status.windows, occurrence, reason, message))
    skipped = passed_over(situation, occurrence, reason, message)
    return replace(written, events=(skipped, *written.events), statuses={**written.statuses, situation.uid: status})


def _skip_opening(situation: Situation, step: Mark) -> Written:
    opening, windows = step.opening, situation.status.windows
    assert opening is not None and windows is not None
    passed = replace(with_used(windows, opening), skipped=opening.id, skip_reason=step.reason, skip_message=step.message)
    status = replace(situation.status, windows=passed)
    return Written(events=(passed_over(situation, opening.id, step.reason, step.message),), statuses={situation.uid: status})


def _settle_windows(situation: Situation, step: Mark) -> Written:
    """From now on these windows count. Writing them starts nothing by itself: what has begun already is over and done with."""
    record, former = situation.record, situation.status.windows
    fresh = WindowsStanding(digest=windows_digest(record.spec, record.annotations), through=situation.now)
    if former is not None:
        fresh = replace(former, digest=fresh.digest, through=max(fresh.through, former.through))
    return Written(statuses={situation.uid: replace(situation.status, windows=fresh)})


def _settle_spec(situation: Situation, step: Mark) -> Written:
    status = replace(
        situation.status, observed_generation=situation.record.generation, handled_requests=handled_now(situation), start_is_asked=False
    )
    return Written(statuses={situation.uid: status})


def _rest(situation: Situation, step: Mark) -> Written:
    """The end of a stop, or of a start that nothing was allocated for; a start asked for meanwhile goes on from the kept disk."""
    if _goes_on(situation):
        return _begin_start(situation, step)
    reason = "CapacityUnavailable" if step.reason == StopReason.SCHEDULE else step.reason
    return _with_skip(situation, _rested(situation, step), reason, f"it was over before a machine was to be had ({step.reason})")


def _goes_on(situation: Situation) -> bool:
    is_start_asked = situation.status.start_is_asked or is_asked(situation, START_REQUEST)
    return is_start_asked and wanted(situation).aim is Aim.RUN


def _rested(situation: Situation, step: Mark) -> Written:
    status = replace(
        situation.status,
        stop_reason=situation.status.stop_reason or step.reason,
        attempt_uid="",
        start_is_asked=False,
        observed_generation=situation.record.generation,
        handled_requests=handled_now(situation),
        session=None,
        windows=_windows_after(situation),
    )
    status = with_condition(status, "Stopped", True, status.stop_reason, situation.now)
    after, events = moved(situation, status, Phase.STOPPED, status.stop_reason)
    closed = _closed(situation, "Cancelled", step.reason)
    return Written(events=(*events, *closed), statuses={situation.uid: after}, forgotten=_forgotten(situation))


def _windows_after(situation: Situation) -> WindowsStanding | None:
    """A session that ends inside an opening has used it, whoever began it. An owner's stop also ends what is being made ready."""
    record, windows, now = situation.record, situation.status.windows, situation.now
    if not has_openings(record.spec, record.annotations):
        return windows
    known = windows or WindowsStanding(digest=windows_digest(record.spec, record.annotations), through=now)
    if situation.status.stop_reason == StopReason.OWNER or is_asked(situation, STOP_REQUEST):
        for opening in unused_until(record.spec, record.annotations, situation.rules.window_lead, now, known):
            known = with_used(known, opening)
    return replace(known, through=max(known.through, now))


def _fail(situation: Situation, step: Mark) -> Written:
    status = replace(situation.status, attempt_uid="", observed_generation=situation.record.generation, start_is_asked=False)
    status = replace(status, session=None, windows=_windows_after(situation))
    status = with_condition(status, "Scheduled", False, step.reason, situation.now, message=step.message)
    status = refused_money(status, step.reason, situation.now, step.message)
    after, events = moved(situation, status, Phase.FAILED, step.reason, step.message)
    closed = _closed(situation, "Failed", step.reason)
    failed = Written(events=(*events, *closed), statuses={situation.uid: after}, forgotten=_forgotten(situation))
    return _with_skip(situation, failed, step.reason, step.message)


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
    summary = _summary(situation, attempt)
    status = replace(
        situation.status,
        attempt_uid="",
        last_session=summary or situation.status.last_session,
        session=_session_after(situation, attempt, summary),
    )
    events: tuple[Event, ...] = ()
    if situation.status.phase is Phase.STARTING:
        status, events = moved(situation, status, Phase.PENDING, attempt.stop_reason, situation.status.message)
    statuses: dict[str, ObjectStatus] = {situation.uid: status}
    if situation.home is not None and _holds_home(situation, attempt):
        standing = replace(situation.home.standing, holder=None)
        statuses[situation.home.record.uid] = replace(situation.home.status, volume=standing, phase=Phase.READY)
    is_lost = situation.status.stop_reason == "Interrupted" or attempt.interruption is not None
    ending = "Failed" if is_lost else step.reason
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
    session = situation.status.session or SessionStanding(began_at=attempt.timings.queued_at)
    return SessionSummary(
        attempt=attempt.name,
        started_at=session.ready_at or attempt.timings.ready_at,
        ended_at=ended_at,
        billed_seconds=session.billed_seconds + int(-(-seconds // 1)),
        charge_usd=session.charge_usd + charge_of(attempt, ended_at),
        stop_reason=situation.status.stop_reason or attempt.stop_reason,
    )


def _session_after(situation: Situation, attempt: Attempt, summary: SessionSummary | None) -> SessionStanding | None:
    """The session once one of its Attempts is over: the next one adds to it."""
    session = situation.status.session
    if session is None or summary is None:
        return session
    ready_at = session.ready_at or attempt.timings.ready_at
    return replace(session, ready_at=ready_at, billed_seconds=summary.billed_seconds, charge_usd=summary.charge_usd)


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
    MarkKind.BEGIN_RECOVERY: _begin_recovery,
    MarkKind.SKIP_START: _skip_start,
    MarkKind.SKIP_OPENING: _skip_opening,
    MarkKind.SETTLE_WINDOWS: _settle_windows,
    MarkKind.POST_STORAGE: lambda situation, step: storage_posted(situation),
}
