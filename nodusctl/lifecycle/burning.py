"""What a machine that should be gone costs meanwhile: said with every reason why its stop doesn't get on (rule R4)."""

from __future__ import annotations

from dataclasses import replace

from nodusctl.lifecycle.overdue import release_due_by
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import GiveUp, Step, Wait


def with_burn_rate(situation: Situation, step: Step | Wait | GiveUp | None) -> Step | Wait | GiveUp | None:
    """The step. One that waits in vain, or past the time by which a stop should be confirmed, says the hourly rate of the machine."""
    if not isinstance(step, Wait | GiveUp):
        return step
    burning = burning_words(situation)
    due_by = release_due_by(situation)
    is_late = due_by is not None and due_by < situation.now
    if not burning or (isinstance(step, Wait) and not step.code and not is_late):
        return step
    late = f"; it should have been gone by {due_by:%Y-%m-%d %H:%M} UTC" if due_by is not None and is_late else ""
    because = f"{step.because}{late}; {burning}"
    return replace(step, because=because, code=step.code or "ProviderNotReady")


def burning_words(situation: Situation) -> str:
    """What the machine of a session that is to end costs, as words; "" where none is left, or nobody pays for it."""
    attempt = situation.attempt
    if attempt is None or not attempt.stop_reason or attempt.machine is None or attempt.is_released or attempt.terms is None:
        return ""
    machine = situation.sightings.machine or attempt.machine
    if machine.ended_at is not None or not attempt.terms.rate_usd_per_hour:
        return ""
    return f"it still costs {attempt.terms.rate_usd_per_hour.shown}/h (machine {machine.id})"
