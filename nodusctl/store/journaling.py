"""Events as rows, and the Attempts folded from them.

The fold is stored beside the events so that one step reads one row, not a history; a contract test folds everything again and
compares.
"""

from __future__ import annotations

import threading
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
from nodusctl.store.statements import Statement, among, listed

if TYPE_CHECKING:
    from sqlalchemy import Connection

_ADD_EVENT, _ADD_ATTEMPT = Statement(insert(JOURNAL)), Statement(insert(ATTEMPTS))
_CHANGE_ATTEMPT = Statement(update(ATTEMPTS).where(ATTEMPTS.c.uid == bindparam("which")).values(body=bindparam("text")))
_THESE_ATTEMPTS = Statement(select(ATTEMPTS.c.body).where(among(ATTEMPTS.c.uid, "uids")))
_attempts = select(ATTEMPTS.c.body).order_by(ATTEMPTS.c.sequence)
_ALL_ATTEMPTS, _ATTEMPTS_OF = Statement(_attempts), Statement(_attempts.where(among(ATTEMPTS.c.owner_uid, "uids")))
_events = select(JOURNAL.c.sequence, JOURNAL.c.kind, JOURNAL.c.body).order_by(JOURNAL.c.sequence)
_ALL_EVENTS, _EVENTS_OF = Statement(_events), Statement(_events.where(JOURNAL.c.object_uid == bindparam("uid")))


def append(connection: Connection, events: Iterable[Event]) -> None:
    """Write events in order and carry the Attempts they speak of on."""
    cleaned = [without_secrets(event) for event in events]
    if not cleaned:
        return
    _ADD_EVENT.change_each(connection, [_row(event) for event in cleaned])
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
            _ADD_ATTEMPT.change(connection, uid=uid, owner_uid=attempt.owner_uid, body=_FOLDS.encoded(attempt))
        elif attempt != known[uid]:
            _CHANGE_ATTEMPT.change(connection, which=uid, text=_FOLDS.encoded(attempt))


def _attempts_by_uid(connection: Connection, uids: set[str]) -> dict[str, Attempt]:
    bodies = _THESE_ATTEMPTS.values(connection, uids=listed(uids))
    return {attempt.uid: attempt for attempt in map(_FOLDS.decoded, bodies)}


class _Folds:
    """The folds written last, by their text: a step carries on what the step before it wrote, and decoding that is most of the cost."""

    def __init__(self) -> None:
        self._known: dict[str, Attempt] = {}
        self._lock = threading.Lock()

    def encoded(self, attempt: Attempt) -> str:
        text = encode(attempt)
        with self._lock:
            if len(self._known) >= _FOLDS_KEPT:
                del self._known[next(iter(self._known))]
            self._known[text] = attempt
        return text

    def decoded(self, text: str) -> Attempt:
        return self._known.get(text) or decode(Attempt, text)


_FOLDS_KEPT = 500
_FOLDS = _Folds()


def attempts(connection: Connection, owner_uids: Sequence[str] | None = None) -> tuple[Attempt, ...]:
    """Attempts in the order they were queued; of the named owners, or all."""
    bodies = _ALL_ATTEMPTS.values(connection) if owner_uids is None else _ATTEMPTS_OF.values(connection, uids=listed(owner_uids))
    return tuple(decode(Attempt, body) for body in bodies)


def rows(connection: Connection, object_uid: str = "") -> tuple[JournalRow, ...]:
    """The journal in order, of one object or whole."""
    found = _EVENTS_OF.rows(connection, uid=object_uid) if object_uid else _ALL_EVENTS.rows(connection)
    return tuple(JournalRow(sequence=number, event=decode_event(kind, body)) for number, kind, body in found)
