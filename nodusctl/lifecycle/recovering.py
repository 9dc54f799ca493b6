"""What follows once the machine of a running session is proved dead: another one in its place, or the end of the session.

Only a session with a home Volume is recovered, at most three times, and only where the loss was noticed in time. A machine that ended
because its time, its money or its user's activity was over was not lost: that is a stop.
"""

from __future__ import annotations

from datetime import datetime

from nodusctl.attempts.attempt import Attempt
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.starting import next_while_placing, next_while_starting
from nodusctl.lifecycle.steps import GiveUp, Mark, MarkKind, Step, Wait
from nodusctl.lifecycle.stopping import next_while_stopping
from nodusctl.lifecycle.vanishing import stop_reason_of_dead, when_died
from nodusctl.lifecycle.wanted import Aim, wanted
from nodusctl.state.requests import declared_dead
from nodusctl.state.status import StopReason


def next_of_dead(situation: Situation) -> Mark:
    """What becomes of a running session whose machine has ended."""
    reason, machine = stop_reason_of_dead(situation), situation.sightings.machine
    if reason is not StopReason.INTERRUPTED:
        said = machine.reason_detail if machine is not None else ""
        return Mark(what=MarkKind.BEGIN_STOP, reason=str(reason), message=said, because="its machine has ended by itself")
    why_not = _why_not_recovered(situation)
    if why_not:
        return Mark(what=MarkKind.BEGIN_STOP, reason=str(reason), message=why_not, because=f"its machine was lost; {why_not}")
    return Mark(what=MarkKind.BEGIN_RECOVERY, reason=str(reason), because="its machine was lost, and its home is safe")


def _why_not_recovered(situation: Situation) -> str:
    session, rules = situation.status.session, situation.rules
    if situation.home is None:
        return "an ephemeral Workspace has nothing to go on from"
    if wanted(situation).aim is not Aim.RUN:
        return "its time was over"
    if session is not None and session.recoveries >= rules.recoveries_per_session:
        return f"it was already replaced {session.recoveries} times in this session"
    is_declared = bool(declared_dead(situation.record.annotations))  # whoever says so asks for the recovery, however late
    if not is_declared and situation.now - _last_alive(situation) > rules.recovery_limit:
        return "that was noticed too late"
    return ""


def _last_alive(situation: Situation) -> datetime:
    """The provider's time of the end; without one, the last good pass that still saw it."""
    died_at = when_died(situation)
    if died_at is not None:
        return died_at
    attempt = situation.attempt
    known = [moment for moment in (situation.last_pass_at, attempt.timings.ready_at if attempt else None) if moment is not None]
    return max(known, default=situation.now)


def next_while_recovering(situation: Situation) -> Step | Wait | GiveUp | None:
    """First the dead machine is out of the way and its disk free; then the next one is placed and started, like any other."""
    want, attempt = wanted(situation), situation.attempt
    if want.aim is Aim.GO:
        return Mark(what=MarkKind.TERMINATE, reason=str(want.reason), because="the owner deletes it")
    if want.aim is Aim.STOP:
        return Mark(what=MarkKind.BEGIN_STOP, reason=str(want.reason), because="a stop beats a start")
    if attempt is None or attempt.machine is None:
        return next_while_placing(situation)
    if _is_over(attempt):
        return next_while_stopping(situation)
    return next_while_starting(situation)


def _is_over(attempt: Attempt) -> bool:
    return bool(attempt.stop_reason)
