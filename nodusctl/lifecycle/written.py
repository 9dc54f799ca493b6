"""What a step writes: the one value that goes into ``open`` or ``close``, built by pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from nodusctl.attempts.events import Event, PhaseChanged
from nodusctl.ledger.entries import Entry
from nodusctl.lifecycle.situation import Situation
from nodusctl.state.records import RecordChange
from nodusctl.state.status import Condition, ObjectStatus, Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Events, money, statuses by uid, record changes and vault names to forget."""

    events: tuple[Event, ...] = ()
    entries: tuple[Entry, ...] = ()
    statuses: Mapping[str, ObjectStatus] = field(default_factory=dict)
    records: tuple[RecordChange, ...] = ()
    forgotten: tuple[str, ...] = ()


def moved(
    situation: Situation, status: ObjectStatus, phase: Phase, reason: str = "", message: str = ""
) -> tuple[ObjectStatus, tuple[Event, ...]]:
    """``status`` in another phase, and the event that says so."""
    after = replace(status, phase=phase, reason=reason, message=message)
    change = PhaseChanged(
        time=situation.now,
        object_uid=situation.uid,
        attempt_uid=situation.status.attempt_uid,
        before=str(situation.status.phase),
        after=str(phase),
        reason=reason,
    )
    return after, (change,) if phase is not situation.status.phase else ()


def with_condition(
    status: ObjectStatus, type_: str, is_true: bool | None, reason: str, now: datetime, *, message: str = ""
) -> ObjectStatus:
    """``status`` with one condition set; its transition time moves only when the value does. None means Unknown."""
    value = "Unknown" if is_true is None else str(is_true)
    former = next((c for c in status.conditions if c.type == type_), None)
    since = former.last_transition_at if former is not None and former.status == value else now
    condition = Condition(
        type=type_,
        status=value,
        reason=reason,
        message=message,
        last_transition_at=since,
        observed_generation=status.observed_generation,
    )
    others = tuple(c for c in status.conditions if c.type != type_)
    return replace(status, conditions=tuple(sorted((*others, condition), key=lambda c: c.type)))
