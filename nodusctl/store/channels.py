"""One open connection, used again and again: what a transaction costs is SQLite's work and little else.

SQLAlchemy's own checkout, begin, commit and return cost ten times what SQLite needs for a small transaction. So a Channel keeps its
Connection for life and begins and ends transactions on the driver. Where SQLAlchemy itself ran something in between (migrations, a few
counts), it has a transaction of its own on top, and then it is the one to end it.

Reading uses ``mode=ro``: a reader that may write would fold a killed writer's log into the file when it closes. Opening a file takes the
driver alone; SQLAlchemy is loaded with the first Channel.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from nodusctl.base.clock import Wall

if TYPE_CHECKING:
    from sqlalchemy import Connection

BUSY_SECONDS = 20.0


class Channel:
    """A connection for one thread at a time. ``connect`` opens the file."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool

        self._driver = connect()
        self._connection = create_engine("sqlite://", creator=lambda: self._driver, poolclass=NullPool).connect()
        self._is_full = False

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one moment."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self, *, is_durable: bool) -> Iterator[Connection]:
        """A transaction that commits when the block ends well; with ``is_durable`` a power cut can't take it back either."""
        if is_durable is not self._is_full:
            self._driver.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'NORMAL'}")
            self._is_full = is_durable
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def version(self) -> int:
        """Changes when, and only when, another connection has committed since: the file's, of this process or of another."""
        return int(self._driver.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        """Give the file back."""
        self._connection.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        self._driver.execute(begin)
        try:
            yield self._connection
            self._ender().commit()
        except BaseException:
            self._ender().rollback()
            raise

    def _ender(self) -> Connection | sqlite3.Connection:
        return self._connection if self._connection.in_transaction() else self._driver


def open_reader(path: Path) -> sqlite3.Connection:
    """Where the folder can't be written, SQLite can't share its log, and a file without one is read as it stands."""
    connection = _connect(path, "mode=ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        log = path.with_name(path.name + "-wal")
        if os.access(path.parent, os.W_OK) or (log.exists() and log.stat().st_size):
            raise
        connection.close()
        connection = _connect(path, "immutable=1")
    return connection


def open_writer(path: Path, wall: Wall) -> sqlite3.Connection:
    """A connection that may write; creates the file where it is missing."""
    connection = _connect(path, "mode=rwc")
    _turn_on_wal(connection, wall)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def open_kept(path: Path) -> sqlite3.Connection:
    """A connection that may write to a state that is there; an OperationalError where none is."""
    connection = _connect(path, "mode=rw")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _connect(path: Path, options: str) -> sqlite3.Connection:
    """``isolation_level=None``: transactions begin where we say, not where the driver guesses."""
    return sqlite3.connect(
        f"file:{quote(str(path))}?{options}", uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


def _turn_on_wal(connection: sqlite3.Connection, wall: Wall) -> None:
    """Two processes that create one state meet here, and SQLite doesn't wait for the lock this takes; so we do."""
    give_up_at = wall.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as problem:
            if "locked" not in str(problem) or wall.monotonic() >= give_up_at:
                raise
        wall.sleep(0.01)
