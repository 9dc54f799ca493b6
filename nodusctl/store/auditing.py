"""The books of a state in tables, walked inside one read transaction.

The surprise: here a row that can't be decoded is a value, not an exception, and the columns beside a body are compared with it. Whoever
changes a body by hand seldom changes them too, and the program reads by column.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, func, select, text

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import Event
from nodusctl.base.exits import UserError
from nodusctl.base.money import MICRO
from nodusctl.ledger.entries import Entry
from nodusctl.ports.books import Damaged, PostedSum
from nodusctl.store.codec import decode, decode_event
from nodusctl.store.schema import APPEND_ONLY, ATTEMPTS, ENTRIES, JOURNAL, POSTINGS
from nodusctl.store.statements import Row, Statement, among, listed

if TYPE_CHECKING:
    from sqlalchemy import Connection

_entries = select(ENTRIES.c.id, ENTRIES.c.object_uid, ENTRIES.c.attempt_uid, ENTRIES.c.body)
_ALL_ENTRIES = Statement(_entries.order_by(ENTRIES.c.sequence))
_ENTRY = Statement(_entries.where(ENTRIES.c.id == bindparam("which")))
_account = (POSTINGS.c.account, POSTINGS.c.side, POSTINGS.c.object_uid)
_POSTED = Statement(select(*_account, func.sum(POSTINGS.c.amount_micro)).group_by(*_account))
_events = (
    select(JOURNAL.c.sequence, JOURNAL.c.kind, JOURNAL.c.object_uid, JOURNAL.c.attempt_uid, JOURNAL.c.body)
    .where(among(JOURNAL.c.kind, "kinds"))
    .order_by(JOURNAL.c.sequence)
)
_EVENTS, _OBJECT_EVENTS = Statement(_events.where(JOURNAL.c.attempt_uid != "")), Statement(_events)
_attempts = select(ATTEMPTS.c.uid, ATTEMPTS.c.owner_uid, ATTEMPTS.c.body)
_ATTEMPT = Statement(_attempts.where(ATTEMPTS.c.uid == bindparam("which")))
_ALL_ATTEMPTS = Statement(_attempts.order_by(ATTEMPTS.c.sequence))
_NEWEST = Statement(_attempts.order_by(ATTEMPTS.c.sequence.desc()).limit(bindparam("most")))
_ATTEMPT_COUNT = Statement(select(func.count()).select_from(ATTEMPTS))
_COUNTS = {table.name: Statement(select(func.count()).select_from(table)) for table in APPEND_ONLY if table is not POSTINGS}
_COUNTERS = {"sqlite": "SELECT seq FROM sqlite_sequence WHERE name = :which", "postgresql": "SELECT last FROM numbers WHERE name = :which"}
_WRITTEN = Statement(lambda dialect: text(_COUNTERS[dialect]))


class TableBooks:
    """Walks the tables of one connection; every row it yields belongs to the moment its transaction began."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def entries(self) -> Iterator[Entry | Damaged]:
        return (_entry(row) for row in _ALL_ENTRIES.each(self._connection))

    def entry(self, entry_id: str) -> Entry | Damaged | None:
        row = _ENTRY.first(self._connection, which=entry_id)
        return _entry(row) if row is not None else None

    def posted(self) -> Iterator[PostedSum]:
        return (PostedSum(*row) for row in _POSTED.each(self._connection))

    def events(self, kinds: Collection[type]) -> Iterator[Event | Damaged]:
        return (_event(row) for row in _EVENTS.each(self._connection, kinds=listed(kind.__name__ for kind in kinds)))

    def object_events(self, kinds: Collection[type]) -> Iterator[Event | Damaged]:
        return (_event(row) for row in _OBJECT_EVENTS.each(self._connection, kinds=listed(kind.__name__ for kind in kinds)))

    def attempt(self, uid: str) -> Attempt | Damaged | None:
        row = _ATTEMPT.first(self._connection, which=uid)
        return _attempt(row) if row is not None else None

    def attempts(self, newest: int | None = None) -> Iterator[Attempt | Damaged]:
        rows = _ALL_ATTEMPTS.each(self._connection) if newest is None else _NEWEST.each(self._connection, most=newest)
        return (_attempt(row) for row in rows)

    def attempt_count(self) -> int:
        row = _ATTEMPT_COUNT.first(self._connection)
        return int(row[0]) if row is not None else 0

    def rows_gone(self) -> Mapping[str, int]:
        # A number of these tables is never given twice, and taken back with a transaction that fails, so the last is their count.
        gone: dict[str, int] = {}
        for name, counting in _COUNTS.items():
            last = _WRITTEN.first(self._connection, which=name)
            there = counting.first(self._connection)
            gone[name] = (last[0] if last is not None else 0) - (there[0] if there is not None else 0)
        return {name: count for name, count in gone.items() if count}


def _entry(row: Row) -> Entry | Damaged:
    identity, object_uid, attempt_uid, body = row
    where = f"entry {identity}"
    try:
        entry = decode(Entry, body)
    except UserError as fault:
        return Damaged(what=where, attempt_uid=attempt_uid, why=_unbalanced(body) or _words(fault))
    if (entry.id, entry.object_uid, entry.attempt_uid) != (identity, object_uid, attempt_uid):
        return Damaged(what=where, attempt_uid=attempt_uid, why="its text speaks of another entry, object or Attempt than its columns")
    return entry


def _event(row: Row) -> Event | Damaged:
    sequence, kind, object_uid, attempt_uid, body = row
    where = f"event {sequence} ({kind})"
    try:
        event = decode_event(kind, body)
    except UserError as fault:
        return Damaged(what=where, attempt_uid=attempt_uid, why=_words(fault))
    if (event.object_uid, event.attempt_uid) != (object_uid, attempt_uid):
        return Damaged(what=where, attempt_uid=attempt_uid, why="its text speaks of another object or Attempt than its columns")
    return event


def _attempt(row: Row) -> Attempt | Damaged:
    uid, owner_uid, body = row
    try:
        attempt = decode(Attempt, body)
    except UserError as fault:
        return Damaged(what=f"attempt {uid}", attempt_uid=uid, why=_words(fault))
    if (attempt.uid, attempt.owner_uid) != (uid, owner_uid):
        return Damaged(what=f"attempt {uid}", attempt_uid=uid, why="its text speaks of another Attempt or owner than its columns")
    return attempt


def _words(fault: UserError) -> str:
    return f"it can't be read: {fault.diagnostics[0].detail}".rstrip(".")


def _unbalanced(body: str) -> str:
    """What the postings of an unreadable entry come to, where that is what is wrong with it."""
    try:
        amounts = [str(posting["amount"]) for posting in json.loads(body)["postings"]]
        micro = sum(_micro(amount) for amount in amounts)
    except (ValueError, KeyError, TypeError):
        return ""
    return f"its postings come to {micro} micro-USD, not 0" if micro else ""


def _micro(amount: str) -> int:
    whole, _, decimals = amount.removeprefix("-").partition(".")
    micro = int(whole) * MICRO + int(decimals.ljust(6, "0"))
    return -micro if amount.startswith("-") else micro
