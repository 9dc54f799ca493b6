"""A state on a PostgreSQL server, shared by whoever can reach it.

What was asked or written when the connection broke is asked or written again on a new one, for as long as a person would wait: a restarted
server or a laptop that changes networks costs an apply some seconds. A commit whose outcome was lost is looked up first, and never made
twice. Connecting itself has one door (``postgres_connecting``), which waits for a server that may be back in a moment.

The surprise: times of claims and locks are the server's (``server_wall``). Computers that share a state need not agree on the time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import TypeVar

import psycopg
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from nodusctl.base.clock import Wall
from nodusctl.base.exits import UserError
from nodusctl.store import faults, migrating, postgres_connecting, postgres_faults
from nodusctl.store.backups import Backups
from nodusctl.store.postgres_channel import CommitLost, PostgresChannel
from nodusctl.store.postgres_place import PostgresPlace
from nodusctl.store.revision import REVISION
from nodusctl.store.schema import JOURNAL, STATE, VERSION

T = TypeVar("T")
_OURS = frozenset({VERSION.name, STATE.name, JOURNAL.name})


class PostgresDatabase:
    """The tables at ``place``; connected when first needed. Before they are brought up the state is kept among ``backups``."""

    def __init__(self, place: PostgresPlace, wall: Wall, *, is_read_only: bool, backups: Backups | None = None) -> None:
        self._place, self._wall, self.is_read_only, self._backups = place, wall, is_read_only, backups
        self._writer: PostgresChannel | None = None
        self._idle_readers: list[PostgresChannel] = []
        self._writing = threading.RLock()
        self._is_current = False
        self._own_commits = 0
        self._ahead: timedelta | None = None

    @property
    def place(self) -> str:
        return self._place.shown

    @contextmanager
    def read(self) -> Iterator[Connection | None]:
        """As the Protocol says; a connection that breaks inside the block is a UserError."""
        if not self._persevering(self._is_ready):
            yield None
            return
        moment, connection = self._persevering(self._begun)
        with self._told(), moment:
            yield connection

    def reading(self, question: Callable[[Connection], T], when_missing: T) -> T:
        def ask() -> T:
            if not self._is_ready():
                return when_missing
            with self._reading() as connection:
                return question(connection)

        return self._persevering(ask)

    def changing(self, act: Callable[[Connection], T], *, is_durable: bool = True) -> T:
        # Always durable: a claim lost with the server would let another process have its fence too, while its holder lives.
        if self.is_read_only:
            raise RuntimeError("this state was opened for reading")
        with self._writing:
            return self._persevering(lambda: self._change(act))

    def version(self) -> int:
        if not self._is_current:
            return 0
        with self._writing:
            return self._persevering(lambda: self._opened_writer().commits()) - self._own_commits

    def has_tables(self) -> bool:
        return self._persevering(self._is_ready)

    def ahead(self) -> timedelta:
        """How far the server's clock is ahead of this computer's, as of the last connection made."""
        if self._ahead is None:
            self._persevering(self._is_ready)
        return self._ahead or timedelta(0)

    def close(self) -> None:
        self._close_readers()
        if self._writer is not None:
            self._writer.close()
        self._writer = None

    # Writing

    def _change(self, act: Callable[[Connection], T]) -> T:
        channel = self._opened_writer()
        if not self._is_current:
            self._bring_up(channel)
        try:
            with channel.taking_a_turn() as (connection, turn):
                if turn.revision != REVISION:
                    # Somebody has brought the tables up since; they aren't ours to write any more.
                    self._is_current = False
                    raise faults.newer(self.place, f"schema revision {turn.revision}")
                outcome = act(connection)
        except CommitLost as lost:
            if not self._was_committed(lost):
                raise _Again(lost.why) from None
        self._own_commits += 1
        return outcome

    def _was_committed(self, lost: CommitLost) -> bool:
        """What became of it, asked on a new connection until the server has an answer."""
        give_up_at = self._wall.monotonic() + postgres_connecting.PATIENCE_SECONDS
        why = lost.why
        while True:
            try:
                outcome = self._opened_writer().became_of(lost.number)
                if outcome != "in progress":
                    return outcome == "committed"
            except psycopg.OperationalError as problem:
                why = str(problem)
            except UserError:
                raise postgres_faults.outcome_unknown(self.place, why) from None
            if self._wall.monotonic() >= give_up_at:
                raise postgres_faults.outcome_unknown(self.place, why)
            self._wall.sleep(postgres_connecting.PAUSE_SECONDS)

    def _bring_up(self, channel: PostgresChannel) -> None:
        with channel.alone() as connection:
            match self._standing(connection):
                case "empty":
                    migrating.create(connection)
                case "older":
                    # Nobody writes from here to the commit: whoever waits for a turn finds the new revision in it.
                    connection.exec_driver_sql("UPDATE turns SET commits = commits + 1")
                    migrating.upgrade_kept(connection, self._backups, self._wall.now())
        self._is_current = True

    def _opened_writer(self) -> PostgresChannel:
        if self._writer is not None and self._writer.is_broken:
            self._writer.close()
            self._writer = None
        if self._writer is None:
            self._writer = self._connected()
        return self._writer

    def _connected(self) -> PostgresChannel:
        channel = postgres_connecting.connected(self._place, self._wall, was_there=self._ahead is not None)
        self._ahead = channel.ahead
        return channel

    # Reading

    def _is_ready(self) -> bool:
        """True where there are tables of this version, brought up first if we may."""
        if self._is_current:
            return True
        with self._reading() as connection:
            standing = self._standing(connection)
        if standing == "older":
            if self.is_read_only:
                raise faults.older_schema(self.place)
            with self._writing:
                self._bring_up(self._opened_writer())
            standing = "current"
        self._is_current = standing == "current"
        return self._is_current

    def _standing(self, connection: Connection) -> str:
        """empty, current or older; UserError for a newer schema and for tables of somebody else."""
        tables = migrating.tables_of(connection)
        if not tables:
            return "empty"
        if not tables >= _OURS:
            raise postgres_faults.not_a_state(self.place, "it holds another program's tables")
        revision = migrating.revision_of(connection)
        if revision == REVISION:
            return "current"
        if not migrating.is_known(revision):
            raise faults.newer(self.place, f"schema revision {revision}")
        return "older"

    def _begun(self) -> tuple[ExitStack, Connection]:
        """A moment that is seen until the stack is closed. Where the idle connection was lost, persevering comes with a new one."""
        with ExitStack() as stack:
            connection = stack.enter_context(self._reading())
            return stack.pop_all(), connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Readers of several threads don't wait for each other: each takes an idle connection, or opens one."""
        try:
            channel = self._idle_readers.pop()
        except IndexError:
            channel = self._connected()
        try:
            with channel.reading() as connection:
                yield connection
        except BaseException:
            channel.close()
            raise
        self._idle_readers.append(channel)

    # Trouble

    def _persevering(self, act: Callable[[], T]) -> T:
        """``act``, again on a new connection where the one it had is lost; that there is none to be had ends it."""
        give_up_at: float | None = None
        while True:
            with self._told():
                try:
                    return act()
                except (_Again, psycopg.OperationalError, DBAPIError) as problem:
                    if not (isinstance(problem, _Again) or postgres_faults.may_pass(problem)):
                        raise
                    give_up_at = give_up_at or self._wall.monotonic() + postgres_connecting.PATIENCE_SECONDS
                    if self._wall.monotonic() >= give_up_at:
                        raise
            self._close_readers()
            self._wall.sleep(postgres_connecting.PAUSE_SECONDS)

    def _close_readers(self) -> None:
        while self._idle_readers:
            self._idle_readers.pop().close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turns what the server says into words for a person; everything else goes on as it is."""
        try:
            yield
        except _Again as problem:
            raise postgres_faults.unreachable(self.place, str(problem)) from None
        except (psycopg.Error, DBAPIError) as problem:
            told = postgres_faults.told(self.place, cause) if (cause := postgres_faults.cause_of(problem)) is not None else None
            if told is None:
                raise
            raise told from None


class _Again(Exception):
    """A commit that was lost and turned out not to have happened."""
