"""What is wanted of a Workspace now: run, stop (and why), or go. The owner's word first; a stop beats a start."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nodusctl.lifecycle.edges import MONEY_BOUNDS, REASON_OF, cap_edge, session_stop_at
from nodusctl.lifecycle.funding import MONEY, saving_lead
from nodusctl.lifecycle.situation import Situation
from nodusctl.state.requests import ACTION_OF, STOP_REQUEST, is_unanswered
from nodusctl.state.status import Phase, StopReason

_IN_SESSION = frozenset({Phase.PENDING, Phase.STARTING, Phase.RUNNING, Phase.RECOVERING})


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
    """Delete, owner stop, money, stopAt, lease end, run: in this order when several are due (lifecycle.md).

    Idle isn't among them: the machine judges it alone and ends itself, which is then read from it.
    """
    if situation.record.deletion_requested_at is not None:
        return Wanted(Aim.GO, StopReason.DELETED)
    if situation.record.spec.get("state") == "Stopped" or is_asked(situation, STOP_REQUEST):
        return Wanted(Aim.STOP, StopReason.OWNER)
    due = due_stop(situation)
    return Wanted(Aim.STOP, due) if due is not None else Wanted(Aim.RUN)


def due_stop(situation: Situation) -> StopReason | None:
    """The stop that money or the clock calls for in the session under way; None where none is due."""
    if situation.status.phase not in _IN_SESSION:
        return None
    attempt, now = situation.attempt, situation.now
    edge_at = attempt.edge_at if attempt is not None and attempt.machine is not None and not attempt.stop_reason else None
    at_edge = REASON_OF.get(attempt.edge_bound, StopReason.LEASE_ENDED) if attempt is not None and edge_at and edge_at <= now else None
    if at_edge in MONEY:
        return at_edge
    by_cap = cap_edge(situation, attempt) if attempt is not None and edge_at is not None else None
    if by_cap is not None and by_cap <= now:
        return StopReason.MAX_COST_REACHED
    if attempt is not None and edge_at is not None and attempt.edge_bound in MONEY_BOUNDS:
        lead = saving_lead(situation, attempt)
        if lead and edge_at - lead <= now:
            return REASON_OF[attempt.edge_bound]
    stop_at = session_stop_at(situation)
    if stop_at is not None and stop_at <= now:
        return StopReason.SCHEDULE
    return at_edge


def is_asked(situation: Situation, annotation: str) -> bool:
    """True while a request annotation holds a value that was not acted on yet."""
    return is_unanswered(annotation, situation.record.annotations, situation.status.handled_requests)


def handled_now(situation: Situation) -> dict[str, str]:
    """``status.handledRequests`` once every present request is acted on."""
    present = {action: situation.record.annotations[key] for key, action in ACTION_OF.items() if key in situation.record.annotations}
    return {**situation.status.handled_requests, **present}
