"""The door of this package: the next step of any object, by kind."""

from __future__ import annotations

from nodusctl.lifecycle.identity import refused_by_identity
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import Abandon, GiveUp, Mark, MarkKind, QueueAttempt, Step, Wait
from nodusctl.lifecycle.volume import next_volume_step
from nodusctl.lifecycle.workspace import next_workspace_step


def next_step(situation: Situation) -> Step | Wait | GiveUp | None:
    """The step that is due, when to ask again, why this pass ends, or None: nothing is due."""
    match situation.record.address.kind:
        case "workspace":
            return _at_its_account(situation, next_workspace_step(situation))
        case "volume":
            return _at_its_account(situation, next_volume_step(situation))
        case _:
            return _next_of_quiet_kind(situation)


def _at_its_account(situation: Situation, step: Step | Wait | GiveUp | None) -> Step | Wait | GiveUp | None:
    """The step, unless it would ask or change something at an account that isn't the object's own (rule R12)."""
    if step is None or isinstance(step, Mark | QueueAttempt | Abandon | Wait | GiveUp):
        return step
    return refused_by_identity(situation) or step


def _next_of_quiet_kind(situation: Situation) -> Mark | None:
    """Kinds with nothing outside: they go at once."""
    if situation.record.deletion_requested_at is not None:
        return Mark(what=MarkKind.REMOVE, because="nothing of it is outside")
    return None
