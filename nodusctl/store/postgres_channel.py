"""One open connection to a PostgreSQL server, and its transactions.

A reader sees one moment (REPEATABLE READ). A writer first raises the one row of ``turns``, which makes the others wait for its commit; what
it reads after that is the newest there is (READ COMMITTED), so nothing it relies on can move under it. That is SQLite's BEGIN IMMEDIATE
again: claims, fences and holds are judged by the same code under the same guarantee, and no transaction ever fails for having overlapped.

The surprise: a connection that breaks at a commit leaves open whether it happened. With its turn a writer learns its transaction's number,
and by that number the server is asked later.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
from psycopg import errors
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from nodusctl.base.clock import Wall
from nodusctl.store import postgres_faults
from nodusctl.store.postgres_place import PostgresPlace
from nodusctl.store.postgres_rows import read_sums_as_whole

BUSY_SECONDS = 20
_GONE_SECONDS = 15
"""A writer that says nothing for so long (a laptop that was closed) loses its turn; less than others wait for theirs."""
_SETTINGS = (
    f"SET lock_timeout = '{BUSY_SECONDS}s'; SET idle_in_transaction_session_timeout = '{_GONE_SECONDS}s'; "
    "SET standard_conforming_strings = on; SET default_transaction_isolation = 'read committed'; "
    "SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), current_schema()::text, clock_timestamp()"
)
# Whoever only reads keeps nobody waiting, and may take its time between two rows.
_MOMENT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0"
# One who creates or upgrades has no row to wait for, so there it is a lock by number: ours, and the schema's.
_ALONE = "SELECT pg_advisory_xact_lock((1852793973::bigint << 32) | oid::bigint) FROM pg_namespace WHERE nspname = current_schema()"
_TURN = "UPDATE turns SET commits = commits + 1 RETURNING revision, pg_current_xact_id()::text"
_BECAME = "SELECT pg_xact_status(%s::xid8)"


class CommitLost(Exception):
    """The connection broke at a commit; ``number`` is the transaction's."""

    def __init__(self, number: str, why: str) -> None:
        super().__init__(why)
        self.number, self.why = number, why


@dataclass(frozen=True, slots=True)
class Turn:
    """A writer's turn: the schema's revision now, and the transaction's number."""

    revision: str
    number: str


class PostgresChannel:
    """A connection for one thread at a time. ``ahead`` is how far the server's clock is ahead of ``wall``."""

    def __init__(self, place: PostgresPlace, wall: Wall) -> None:
        self._driver: psycopg.Connection[Any] = place.connect()
        try:
            self.ahead = self._set_up(place.shown, wall)
            # Nothing is left to reset: transactions end here. Resetting a lost connection would print a traceback.
            kept = {"poolclass": NullPool, "pool_reset_on_return": None, "use_native_hstore": False}
            engine = create_engine("postgresql+psycopg://", creator=lambda: self._driver, **kept)
            self._connection = engine.connect()
        except BaseException:
            self._driver.close()
            raise

    def _set_up(self, shown: str, wall: Wall) -> timedelta:
        read_sums_as_whole(self._driver)
        asked_at = wall.now()
        cursor = self._driver.execute(_SETTINGS)
        while cursor.nextset():
            pass
        row, answered_at = cursor.fetchone(), wall.now()
        assert row is not None
        version, encoding, schema, server_time = row
        if version < postgres_faults.OLDEST * 10_000:
            raise postgres_faults.unfit(
                shown, f"the server is PostgreSQL {version // 10_000}; {postgres_faults.OLDEST} or newer is needed."
            )
        if encoding != "UTF8":
            raise postgres_faults.unfit(shown, f"its encoding is {encoding}; a state needs UTF8.")
        if schema is None:
            raise postgres_faults.unfit(shown, "its search_path names no schema that exists and may be used.")
        ahead: timedelta = server_time - (asked_at + (answered_at - asked_at) / 2)
        return ahead

    @property
    def is_broken(self) -> bool:
        """True once the server or the network is gone."""
        return self._driver.closed or self._driver.broken

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one moment."""
        with self._rolled_back():
            self._driver.execute(_MOMENT)
            yield self._connection
            self._end().commit()

    @contextmanager
    def taking_a_turn(self) -> Iterator[tuple[Connection, Turn]]:
        """A transaction in which nobody else writes; CommitLost where it isn't known whether it was committed."""
        with self._rolled_back():
            cursor = self._driver.execute(f"BEGIN; {_TURN}")
            cursor.nextset()
            row = cursor.fetchone()
            assert row is not None, "turns has its row from the commit that made the tables"
            yield self._connection, (turn := Turn(*row))
            self._commit(turn.number)

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """A transaction in which nobody else makes tables, or brings them up."""
        self._driver.execute("BEGIN")
        with self._rolled_back():
            self._driver.execute(_ALONE)
            yield self._connection
            self._end().commit()

    def commits(self) -> int:
        """How many commits this state has seen."""
        row = self._driver.execute("SELECT commits FROM turns").fetchone()
        return int(row[0]) if row is not None else 0

    def became_of(self, number: str) -> str:
        """Of a transaction: committed, aborted or in progress. One the server has never heard of, or no longer, is aborted."""
        try:
            row = self._driver.execute(_BECAME, (number,)).fetchone()
        except errors.InvalidParameterValue:
            return "aborted"
        return str(row[0]) if row is not None and row[0] is not None else "aborted"

    def close(self) -> None:
        """Give the connection back."""
        with suppress(psycopg.Error, DBAPIError):
            self._connection.close()
        self._driver.close()

    def _commit(self, number: str) -> None:
        try:
            self._end().commit()
        except (psycopg.OperationalError, DBAPIError) as problem:
            if self.is_broken:
                raise CommitLost(number, str(problem)) from problem
            raise

    @contextmanager
    def _rolled_back(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            with suppress(psycopg.Error, DBAPIError):
                self._end().rollback()
            raise

    def _end(self) -> Connection | psycopg.Connection[Any]:
        """Where SQLAlchemy itself ran something it has a transaction on top, and is the one to end it."""
        return self._connection if self._connection.in_transaction() else self._driver
