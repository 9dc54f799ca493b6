"""The world's database: one IMMEDIATE transaction a call, safe between threads and processes.

SQLite's own write lock is the world's only lock. It is never held while a reply hangs, so a hanging call stops nobody else.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from nodus_providers.simulated.rows import SCHEMA, TABLES, Row
from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError

R = TypeVar("R", bound=Row)
_FORMAT = 2
_BUSY_SECONDS = 60.0


class Transaction:
    """Typed access to the rows inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._now: int | None = None

    @property
    def now(self) -> int:
        """The world's time; nobody else moves it while this transaction lasts."""
        if self._now is None:
            self._now = int(self._connection.execute("SELECT now FROM clock").fetchone()[0])
        return self._now

    def set_now(self, moment: int) -> None:
        """Put the world's clock to ``moment``; only ``timeline`` moves it."""
        self._now = moment
        self._connection.execute("INSERT OR REPLACE INTO clock (only, now) VALUES (1, ?)", (moment,))

    def next_number(self, name: str) -> int:
        """1, 2, 3 … for each ``name``."""
        sql = "INSERT INTO counter VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value"
        return int(self._connection.execute(sql, (name,)).fetchone()[0])

    def put(self, row: Row) -> None:
        """Insert or replace a row by its key."""
        sql, names = _PUTS[type(row)]
        self._connection.execute(sql, [getattr(row, name) for name in names])

    def rows(self, kind: type[R], where: str = "1", *arguments: Any, order: str = "1") -> list[R]:
        """Rows of one kind, in ``order``."""
        names, select = _PUTS[kind][1], _SELECTS[kind]
        found = self._connection.execute(f"{select} WHERE {where} ORDER BY {order}", arguments)
        return [kind(**dict(zip(names, values, strict=True))) for values in found]

    def row(self, kind: type[R], where: str, *arguments: Any, order: str = "1") -> R | None:
        """The first row, or None."""
        return next(iter(self.rows(kind, where, *arguments, order=f"{order} LIMIT 1")), None)

    def count(self, kind: type[Row], where: str, *arguments: Any) -> int:
        """How many rows."""
        return int(self._connection.execute(f"SELECT count(*) FROM {TABLES[kind]} WHERE {where}", arguments).fetchone()[0])

    def execute(self, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
        """Plain SQL for the tables without a row type: due, call, activity."""
        return self._connection.execute(sql, arguments).fetchall()


class WorldDatabase:
    """Opens the file on first use, with the clock at ``first_now()`` where it is new."""

    def __init__(self, path: Path, first_now: Callable[[], int]) -> None:
        self.path = path
        self._first_now = first_now
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._owner_pid = 0

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """All or nothing; other threads and processes wait."""
        with self._lock:
            connection = self._opened()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield Transaction(connection)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def now(self) -> int:
        """The world's time, read without a write lock."""
        with self._lock:
            return Transaction(self._opened()).now

    @property
    def exists(self) -> bool:
        """Whether the world has begun."""
        return self.path.exists()

    def settle_file(self) -> None:
        """Write what SQLite still keeps aside into the file, so that nothing deleted is left in its journal."""
        with self._lock:
            self._opened().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Give the file back; the next call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _opened(self) -> sqlite3.Connection:
        # A connection must not cross a fork; the parent's is left alone, not closed.
        if self._connection is None or self._owner_pid != os.getpid():
            self._connection, self._owner_pid = self._connect(), os.getpid()
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA synchronous = NORMAL")
        # A scripted error may carry a word that must not stay behind: what is deleted is overwritten.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("BEGIN IMMEDIATE")
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found == 0:
            self._create(connection)
        connection.execute("COMMIT")
        if found not in (0, _FORMAT):
            connection.close()
            raise _other_format(self.path)
        _use_wal(connection)
        return connection

    def _create(self, connection: sqlite3.Connection) -> None:
        for statement in SCHEMA.split(";\n"):
            connection.execute(statement)
        Transaction(connection).set_now(self._first_now())
        connection.execute(f"PRAGMA user_version = {_FORMAT}")


def _use_wal(connection: sqlite3.Connection) -> None:
    # SQLite doesn't wait for others when the mode is switched; whoever loses that race finds the mode switched already.
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError:
        connection.execute("SELECT now FROM clock")


def _other_format(path: Path) -> UserError:
    return UserError(
        error(
            "Invalid",
            "The simulated world was made by another version of nodusctl",
            f"{path} has a format this version can't read.",
            f"Remove it to start with an empty world:\n  rm {path}",
        )
    )


def _quoted(names: tuple[str, ...]) -> list[str]:
    return [f'"{name}"' for name in names]


def _put_statement(kind: type) -> tuple[str, tuple[str, ...]]:
    names = tuple(field.name for field in fields(kind))
    places = ", ".join("?" for _ in names)
    return f"INSERT OR REPLACE INTO {TABLES[kind]} ({', '.join(_quoted(names))}) VALUES ({places})", names


_PUTS = {kind: _put_statement(kind) for kind in TABLES}
_SELECTS = {kind: f"SELECT {', '.join(_quoted(names))} FROM {TABLES[kind]}" for kind, (_, names) in _PUTS.items()}
