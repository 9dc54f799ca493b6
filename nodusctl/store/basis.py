"""What makes a consumption stale, what moves the serial, and how stored Attempts follow their events: rules both stores share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from nodusctl.attempts.attempt import Attempt, after, fold
from nodusctl.attempts.events import AttemptQueued, Event
from nodusctl.ledger.entries import Posting
from nodusctl.ports.journal import Closing, Consumption, OperationNote, Stale
from nodusctl.state.records import PutRecord, Record, RecordChange, RemoveRecord
from nodusctl.store.codec import encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The state a consumption meets. ``lineage`` is empty where there is none; ``newest`` moved the serial last."""

    lineage: str
    serial: int
    consumed_by: OperationNote | None
    newest: OperationNote | None


def refuse_stale(consumption: Consumption, ground: Ground) -> None:
    """Raise Stale for the first of: consumed, lineage, serial (cli.md, "Plan file"). The rest of a started plan is not a second start."""
    if ground.consumed_by is not None and not consumption.is_resumption:
        raise Stale("consumed", ground.consumed_by)
    # A plan made on an existing state can't create another one in its place.
    is_other = ground.lineage != consumption.lineage if ground.lineage else consumption.serial != 0
    if is_other:
        raise Stale("lineage", ground.newest)
    if ground.serial != consumption.serial:
        raise Stale("serial", ground.newest)


def moves_serial(before: Record | None, after: Record | None) -> bool:
    """True where the desired half changes: another set of records, spec or metadata. An approval alone moves nothing."""
    if before is None or after is None:
        return before is not after
    return _desired(before) != _desired(after)


def _desired(record: Record) -> str:
    return encode(replace(record, approval=None))


def carried_on(known: Mapping[str, Attempt], events: Iterable[Event]) -> dict[str, Attempt]:
    """``known`` Attempts by uid and new ones once ``events`` are known: the fold of all events, one batch at a time."""
    book = dict(known)
    for event in events:
        if isinstance(event, AttemptQueued):
            book[event.attempt_uid] = fold([event])[0]
        elif event.attempt_uid in book:
            book[event.attempt_uid] = after(book[event.attempt_uid], event)
    return book


def step_note(serial: int, command: str, closing: Closing, at: datetime) -> OperationNote:
    """A step that moved the serial, such as the removal of a record: told like an operation, though it consumed no plan."""
    return OperationNote(
        operation_id=f"step-{serial}", command=command, by=closing.claim.holder, at=at, serial=serial, plan_hash="", plan_id=""
    )


def sealed_prefixes(changes: Iterable[RecordChange]) -> tuple[str, ...]:
    """How the names of sealed values begin that go with removed records: ``secret/<uid>/``, every version and key of a Secret."""
    return tuple(f"secret/{change.uid}/" for change in changes if isinstance(change, RemoveRecord))


CHARGED, HELD = "charged", "held"
"""Sides a Snapshot shows (money.md, "Ledger")."""


def side_of(posting: Posting) -> str:
    """A posting's account without the Attempt it may name."""
    return str(posting.account).partition(":")[0]


def changed_uid(change: RecordChange) -> str:
    """Whose record a change is about."""
    match change:
        case PutRecord():
            return change.record.uid
        case RemoveRecord():
            return change.uid
        case _:
            assert_never(change)
