"""The ledger's sums as limits read them, kept in memory and brought up to date by the rows that came since.

The surprise: inside a transaction that writes, the new rows are summed apart and forgotten. They may yet be rolled back, and their
numbers given to other rows. And the past may become another one, where a whole state was put in the place of this one: the last entry that
was counted is looked at again before any count goes on from it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, func, select

from nodusctl.base.money import Money
from nodusctl.ledger.entries import GRANTED, Entry
from nodusctl.ledger.room import HoldGuard, Tally, room_under, shortage
from nodusctl.ports.journal import HoldRefused
from nodusctl.store.schema import ENTRIES, POSTINGS
from nodusctl.store.statements import Statement

if TYPE_CHECKING:
    from sqlalchemy import Connection

_by = (POSTINGS.c.object_uid, POSTINGS.c.side, POSTINGS.c.month)
_sums = select(*_by, func.sum(POSTINGS.c.amount_micro)).group_by(*_by)
_ALL = Statement(_sums)
_NEW = Statement(_sums.where(POSTINGS.c.entry_id.in_(select(ENTRIES.c.id).where(ENTRIES.c.sequence > bindparam("mark")))))
_LAST = Statement(select(func.max(ENTRIES.c.sequence)))
_AT = Statement(select(ENTRIES.c.id).where(ENTRIES.c.sequence == bindparam("mark")))
_GRANT = Statement(select(POSTINGS.c.amount_micro).where(POSTINGS.c.object_uid == "", POSTINGS.c.side == GRANTED).limit(1))


class LedgerTally:
    """Sums over one state's ledger; not even counted where no Budget binds and nothing was granted."""

    def __init__(self) -> None:
        self._tally, self._mark, self._lock = Tally(), 0, threading.Lock()
        self._mark_id = ""
        self._fresh_at: int | None = None
        self._is_counted = False

    def outdate(self) -> None:
        """We have written ourselves: the sums stand no longer."""
        self._fresh_at = None

    def is_fresh(self, version: int, guards: Iterable[HoldGuard]) -> bool:
        """True where nobody has written since the sums these guards need were read at this version of the file."""
        return self._fresh_at == version and (self._is_counted or not _name_limits(guards))

    def room(self, guards: Iterable[HoldGuard]) -> tuple[Money | None, ...]:
        """What each limit has left by the sums as they are."""
        with self._lock:
            return tuple(room_under(guard, self._tally) for guard in guards)

    def bring_up(self, connection: Connection, guards: Iterable[HoldGuard], version: int | None) -> None:
        """Count what came since, as ``connection`` (which only reads) sees the ledger; ``version`` was the file's before it did."""
        with self._lock:
            if self._binds(connection, guards):
                self._bring_up(connection)
            self._fresh_at = version

    def copy(self, connection: Connection) -> Tally:
        """All sums, as ``connection`` (which only reads) sees the ledger."""
        with self._lock:
            self._bring_up(connection)
            return self._tally.copy()

    def require_room(self, connection: Connection, guards: Iterable[HoldGuard], entries: Iterable[Entry]) -> None:
        """HoldRefused where entries about to be posted through ``connection`` don't fit one of the limits."""
        with self._lock:
            if not self._binds(connection, guards):
                return
            since = Tally()
            self._begin_anew_in_another_past(connection)
            if _last(connection) > self._mark:
                _count(connection, self._mark, since)
            found = shortage(guards, entries, self._tally, since)
        if found is not None:
            raise HoldRefused(found)

    def _binds(self, connection: Connection, guards: Iterable[HoldGuard]) -> bool:
        """False where nothing can be short: only the balance is asked for, and nothing was ever granted."""
        return self._is_counted or _name_limits(guards) or _GRANT.first(connection) is not None

    def _bring_up(self, connection: Connection) -> None:
        self._is_counted = True
        self._begin_anew_in_another_past(connection)
        last = _last(connection)
        if last > self._mark:
            _count(connection, self._mark, self._tally)
            self._mark, self._mark_id = last, _id_at(connection, last)

    def _begin_anew_in_another_past(self, connection: Connection) -> None:
        if self._mark and _id_at(connection, self._mark) != self._mark_id:
            self._tally, self._mark, self._mark_id = Tally(), 0, ""


def _name_limits(guards: Iterable[HoldGuard]) -> bool:
    return any(guard.limit is not None for guard in guards)


def _last(connection: Connection) -> int:
    row = _LAST.first(connection)
    return int(row[0] or 0) if row is not None else 0


def _id_at(connection: Connection, mark: int) -> str:
    row = _AT.first(connection, mark=mark)
    return str(row[0]) if row is not None else ""


def _count(connection: Connection, mark: int, tally: Tally) -> None:
    rows = _NEW.rows(connection, mark=mark) if mark else _ALL.rows(connection)
    for object_uid, side, month, micro in rows:
        tally.add(object_uid, side, month, micro)
