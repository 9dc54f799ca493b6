"""What is wanted of a Workspace now: run, stop (and why), or go. The owner's word first; a stop beats a start."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nodusctl.lifecycle.situation import Situation
from nodusctl.state.requests import PRUNE_REQUEST, RESTORE_REQUEST
from nodusctl.state.status import StopReason

STOP_REQUEST = "nodus.dev/stop-requested-at"
START_REQUEST = "nodus.dev/start-requested-at"
RESTART_REQUEST = "nodus.dev/restart-requested-at"
REFRESH_REQUEST = "nodus.dev/refresh-secrets-requested-at"
_ACTION_OF = {
    STOP_REQUEST: "stop",
    START_REQUEST: "start",
    RESTART_REQUEST: "restart",
    REFRESH_REQUEST: "refresh-secrets",
    RESTORE_REQUEST: "restore",
    PRUNE_REQUEST: "prune",
}


class Aim(StrEnum):
    """The three things an owner can want."""

    RUN = "run"
    STOP = "stop"
    GO = "go"


@dataclass(frozen=True, slots=True)
class Wanted:
    """An aim with the reason a stop would carry."""

    aim: Aim
    reason: StopReason | None = None


def wanted(situation: Situation) -> Wanted:
    """The owner's word, in the order delete, owner stop, run (lifecycle.md: "in this order when several are due")."""
    if situation.record.deletion_requested_at is not None:
        return Wanted(Aim.GO, StopReason.DELETED)
    if situation.record.spec.get("state") == "Stopped" or is_asked(situation, STOP_REQUEST):
        return Wanted(Aim.STOP, StopReason.OWNER)
    return Wanted(Aim.RUN)


def is_asked(situation: Situation, annotation: str) -> bool:
    """True while a request annotation holds a value that was not acted on yet."""
    value = situation.record.annotations.get(annotation, "")
    return bool(value) and situation.status.handled_requests.get(_ACTION_OF[annotation]) != value


def handled_now(situation: Situation) -> dict[str, str]:
    """``status.handledRequests`` once every present request is acted on."""
    present = {action: situation.record.annotations[key] for key, action in _ACTION_OF.items() if key in situation.record.annotations}
    return {**situation.status.handled_requests, **present}
