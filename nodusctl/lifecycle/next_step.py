"""The door of this package: the next step of any object, by kind."""

from __future__ import annotations

from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import GiveUp, Mark, MarkKind, Step, Wait
from nodusctl.lifecycle.volume import next_volume_step
from nodusctl.lifecycle.workspace import next_workspace_step


def next_step(situation: Situation) -> Step | Wait | GiveUp | None:
    """The step that is due, when to ask again, why this pass ends, or None: nothing is due."""
    match situation.record.address.kind:
        case "workspace":
            return next_workspace_step(situation)
        case "volume":
            return next_volume_step(situation)
        case _:
            return _next_of_quiet_kind(situation)


def _next_of_quiet_kind(situation: Situation) -> Mark | None:
    """Kinds with nothing outside: they go at once."""
    if situation.record.deletion_requested_at is not None:
        return Mark(what=MarkKind.REMOVE, because="nothing of it is outside")
    return None
