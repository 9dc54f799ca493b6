"""Events as rows, and the Attempts folded from them.

The fold is stored beside the events so that one step reads one row, not a history; a contract test folds everything again and
compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, select, update

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import Event
from nodusctl.ports.journal import JournalRow
from nodusctl.store.basis import carried_on
from nodusctl.store.codec import decode, decode_event, encode, encode_event
from nodusctl.store.freetext import without_secrets
from nodusctl.store.schema import ATTEMPTS, JOURNAL
from nodusctl.store.statements import among, listed

if TYPE_CHECKING:
    from sqlalchemy import Connection

_ADD_EVENT, _ADD_ATTEMPT = insert(JOURNAL), insert(ATTEMPTS)
_CHANGE_ATTEMPT = update(ATTEMPTS).where(ATTEMPTS.c.uid == bindparam("which")).values(body=bindparam("text"))
_THESE_ATTEMPTS = select(ATTEMPTS.c.body).where(among(ATTEMPTS.c.uid, "uids"))
_ALL_ATTEMPTS = select(ATTEMPTS.c.body).order_by(ATTEMPTS.c.sequence)
_ATTEMPTS_OF = _ALL_ATTEMPTS.where(among(ATTEMPTS.c.owner_uid, "uids"))
_ALL_EVENTS = select(JOURNAL.c.sequence, JOURNAL.c.kind, JOURNAL.c.body).order_by(JOURNAL.c.sequence)
_EVENTS_OF = _ALL_EVENTS.where(JOURNAL.c.object_uid == bindparam("uid"))


def append(connection: Connection, events: Iterable[Event]) -> None:
    """Write events in order and carry the Attempts they speak of on."""
    cleaned = [without_secrets(event) for event in events]
    if not cleaned:
        return
    connection.execute(_ADD_EVENT, [_row(event) for event in cleaned])
    if any(event.attempt_uid for event in cleaned):
        _carry_on(connection, [event for event in cleaned if event.attempt_uid])


def _row(event: Event) -> dict[str, str]:
    kind, body = encode_event(event)
    return {"kind": kind, "object_uid": event.object_uid, "attempt_uid": event.attempt_uid, "body": body}


def _carry_on(connection: Connection, events: Sequence[Event]) -> None:
    known = _attempts_by_uid(connection, {event.attempt_uid for event in events})
    book = carried_on(known, events)
    for uid, attempt in book.items():
        if uid not in known:
            connection.execute(_ADD_ATTEMPT, {"uid": uid, "owner_uid": attempt.owner_uid, "body": encode(attempt)})
        elif attempt != known[uid]:
            connection.execute(_CHANGE_ATTEMPT, {"which": uid, "text": encode(attempt)})


def _attempts_by_uid(connection: Connection, uids: set[str]) -> dict[str, Attempt]:
    bodies = connection.execute(_THESE_ATTEMPTS, {"uids": listed(uids)}).scalars()
    return {attempt.uid: attempt for attempt in (decode(Attempt, body) for body in bodies)}


def attempts(connection: Connection, owner_uids: Sequence[str] | None = None) -> tuple[Attempt, ...]:
    """Attempts in the order they were queued; of the named owners, or all."""
    found = connection.execute(_ALL_ATTEMPTS) if owner_uids is None else connection.execute(_ATTEMPTS_OF, {"uids": listed(owner_uids)})
    return tuple(decode(Attempt, body) for body in found.scalars())


def rows(connection: Connection, object_uid: str = "") -> tuple[JournalRow, ...]:
    """The journal in order, of one object or whole."""
    found = connection.execute(_EVENTS_OF, {"uid": object_uid}) if object_uid else connection.execute(_ALL_EVENTS)
    return tuple(JournalRow(sequence=number, event=decode_event(kind, body)) for number, kind, body in found)
