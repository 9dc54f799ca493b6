"""One SQLite file and the three ways we open it: to read, to commit for good, and to commit what a power cut may take back.

Reading uses ``mode=ro``: a reader that may write would fold a killed writer's log into the file when it closes. Money and intents are
committed with ``synchronous=FULL``; claims with ``NORMAL``, because no claim outlives a power cut anyway. Writers of this process
queue up on a lock of ours: SQLite's own waiting sleeps in steps.

The surprise: a missing file is a state too, an empty one; reading it creates nothing.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError, IntegrityError
from sqlalchemy.pool import QueuePool

from nodusctl.base.clock import Wall
from nodusctl.store import faults, migrating
from nodusctl.store.location import prepare_folder
from nodusctl.store.schema import REVISION, VERSION

BUSY_SECONDS = 20.0
_MAGIC = b"SQLite format 3\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """How one engine opens the file; ``begin`` is the statement that starts its transactions."""

    synchronous: str
    begin: str
    connections: int


_READING = _Way(synchronous="NORMAL", begin="BEGIN", connections=8)
_DURABLE = _Way(synchronous="FULL", begin="BEGIN IMMEDIATE", connections=1)
_BRIEF = _Way(synchronous="NORMAL", begin="BEGIN IMMEDIATE", connections=1)


class Database:
    """The file at ``path``; opened when first needed."""

    def __init__(self, path: Path, wall: Wall, *, is_read_only: bool) -> None:
        self.path, self.is_read_only, self._wall = path, is_read_only, wall
        self._engines: dict[_Way, Engine] = {}
        self._opening, self._writing = threading.Lock(), threading.Lock()
        self._is_current = False

    @contextmanager
    def read(self) -> Iterator[Connection | None]:
        """A connection that sees one moment; None where there is no state yet."""
        if not (self._has_content() and self._is_ready()):
            yield None
            return
        with self._told(), self._engine(_READING).begin() as connection:
            yield connection

    @contextmanager
    def write(self, *, is_durable: bool = True) -> Iterator[Connection]:
        """A transaction that commits when the block ends well; creates the file, and brings its schema up, where needed."""
        if self.is_read_only:
            raise RuntimeError("this state was opened for reading")
        if not self._has_content():
            self._create_file()
        elif not self._is_current:
            # Before a writer opens it: that alone would already change another program's file.
            self._standing_now()
        with self._writing, self._told(), self._engine(_DURABLE if is_durable else _BRIEF).begin() as connection:
            if not self._is_current:
                self._bring_up(connection)
            yield connection
        self._is_current = True

    def has_tables(self) -> bool:
        """False while nothing was ever written."""
        with self.read() as connection:
            return connection is not None

    def close(self) -> None:
        """Close the connections. Readers first: only a writer that closes last can fold the log into the file."""
        for way in (_READING, _BRIEF, _DURABLE):
            if way in self._engines:
                self._engines.pop(way).dispose()

    def _has_content(self) -> bool:
        """True for a file with bytes in it; UserError where they aren't SQLite's."""
        if self._is_current:
            return True
        try:
            with self.path.open("rb") as stream:
                start = stream.read(len(_MAGIC))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as problem:
            raise faults.not_usable(self.path, problem.strerror or str(problem)) from None
        if start and start != _MAGIC:
            raise faults.not_a_state(self.path, "it is not a SQLite file")
        return bool(start)

    def _create_file(self) -> None:
        try:
            prepare_folder(self.path)
            # 0600 from its first byte on; the log files take the same mode.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as problem:
            raise faults.not_usable(self.path, problem.strerror or str(problem)) from None

    def _is_ready(self) -> bool:
        """True where there are tables of this version, brought up first if we may."""
        if self._is_current:
            return True
        standing = self._standing_now()
        if standing == "older":
            if self.is_read_only:
                raise faults.older_schema(self.path)
            with self.write():
                standing = "current"
        self._is_current = standing == "current"
        return self._is_current

    def _standing_now(self) -> str:
        with self._told(), self._engine(_READING).begin() as connection:
            return self._standing(connection)

    def _bring_up(self, connection: Connection) -> None:
        match self._standing(connection):
            case "empty":
                migrating.create(connection)
            case "older":
                migrating.upgrade(connection)

    def _standing(self, connection: Connection) -> str:
        """empty, current or older; UserError for a newer schema and for tables of somebody else."""
        tables = migrating.tables_of(connection)
        if not tables:
            return "empty"
        if VERSION.name not in tables:
            raise faults.not_a_state(self.path, "it is another program's database")
        revision = migrating.revision_of(connection)
        if revision == REVISION:
            return "current"
        if not migrating.is_known(revision):
            raise faults.newer_schema(self.path, revision)
        return "older"

    def _engine(self, way: _Way) -> Engine:
        with self._opening:
            if way not in self._engines:
                self._engines[way] = _engine(self.path, way, self._wall)
            return self._engines[way]

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turns what SQLite says about the file into words for a person; everything else goes on as it is."""
        try:
            yield
        except (IntegrityError, sqlite3.IntegrityError):
            raise
        except (DatabaseError, sqlite3.DatabaseError) as problem:
            cause = problem.orig if isinstance(problem, DatabaseError) else problem
            told = _as_fault(self.path, str(cause))
            if told is None:
                raise
            raise told from None


def _as_fault(path: Path, said: str) -> Exception | None:
    if "locked" in said or "busy" in said:
        return faults.busy(path)
    if "malformed" in said or "not a database" in said:
        return faults.not_a_state(path, said)
    if any(sign in said for sign in ("unable to open", "readonly", "full", "disk I/O")):
        return faults.not_usable(path, said)
    return None


def _engine(path: Path, way: _Way, wall: Wall) -> Engine:
    def connect() -> sqlite3.Connection:
        return _connect_reader(path) if way is _READING else _connect_writer(path, way, wall)

    engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool, pool_size=way.connections, max_overflow=64)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(way.begin)

    return engine


def _connect(path: Path, options: str) -> sqlite3.Connection:
    """``isolation_level=None``: transactions begin where we say, not where the driver guesses."""
    return sqlite3.connect(
        f"file:{quote(str(path))}?{options}", uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


def _connect_reader(path: Path) -> sqlite3.Connection:
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


def _connect_writer(path: Path, way: _Way, wall: Wall) -> sqlite3.Connection:
    connection = _connect(path, "mode=rwc")
    _turn_on_wal(connection, wall)
    connection.execute(f"PRAGMA synchronous = {way.synchronous}")
    return connection


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
