"""One SQLite file and the ways we use it: to read, to commit for good, and to commit what a power cut may take back.

Money and intents are committed with ``synchronous=FULL``; claims with ``NORMAL``, because no claim outlives a power cut anyway. All writing
goes through one connection: writers of this process queue up on a lock of ours (SQLite's own waiting sleeps in steps), and that one
connection can tell whether anybody else has written.

The surprise: a missing file is a state too, an empty one; reading it creates nothing.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError, IntegrityError

from nodusctl.base.clock import Wall
from nodusctl.store import faults, migrating
from nodusctl.store.backups import Backups
from nodusctl.store.channels import Channel, open_reader, open_writer
from nodusctl.store.location import prepare_folder
from nodusctl.store.revision import REVISION
from nodusctl.store.schema import VERSION

T = TypeVar("T")


class SqliteDatabase:
    """The file at ``path``; opened when first needed. Before its schema is brought up the state is kept among ``backups``."""

    def __init__(self, path: Path, wall: Wall, *, is_read_only: bool, backups: Backups | None = None) -> None:
        self.path, self.is_read_only, self._wall, self._backups = path, is_read_only, wall, backups
        self._writer: Channel | None = None
        self._idle_readers: list[Channel] = []
        self._writing = threading.Lock()
        self._is_current = False

    @property
    def place(self) -> str:
        return str(self.path)

    def reading(self, question: Callable[[Connection], T], when_missing: T) -> T:
        with self.read() as connection:
            return question(connection) if connection is not None else when_missing

    def changing(self, act: Callable[[Connection], T], *, is_durable: bool = True) -> T:
        with self.write(is_durable=is_durable) as connection:
            return act(connection)

    @contextmanager
    def read(self) -> Iterator[Connection | None]:
        """A connection that sees one moment; None where there is no state yet."""
        if not (self._has_content() and self._is_ready()):
            yield None
            return
        with self._told(), self._reading() as connection:
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
        with self._writing, self._told(), self._opened_writer().writing(is_durable=is_durable) as connection:
            if not self._is_current:
                self._bring_up(connection)
            yield connection
        self._is_current = True

    def version(self) -> int:
        """Changes when another connection has committed, and not by our own commits. Opens the file for writing, but writes nothing."""
        if not self._is_current:
            return 0
        with self._writing, self._told():
            return self._opened_writer().version()

    def has_tables(self) -> bool:
        """False while nothing was ever written."""
        with self.read() as connection:
            return connection is not None

    def close(self) -> None:
        """Close the connections. Readers first: only a writer that closes last can fold the log into the file."""
        while self._idle_readers:
            self._idle_readers.pop().close()
        if self._writer is not None:
            self._writer.close()
        self._writer = None

    def _has_content(self) -> bool:
        """True for a file with bytes in it.

        Whether they are SQLite's is for SQLite to say: to open the file and close it ourselves would give up the locks of every connection
        of this process (POSIX advisory locks), and another process would then fold away the log they still use.
        """
        if self._is_current:
            return True
        try:
            return self.path.stat().st_size > 0
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as problem:
            raise faults.not_usable(self.path, problem.strerror or str(problem)) from None

    def _create_file(self) -> None:
        try:
            prepare_folder(self.path)
            # 0600 from its first byte on; the log files take the same mode. Only one that is new is opened and closed (see above).
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
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
        with self._told(), self._reading() as connection:
            return self._standing(connection)

    def _bring_up(self, connection: Connection) -> None:
        match self._standing(connection):
            case "empty":
                migrating.create(connection)
            case "older":
                migrating.upgrade_kept(connection, self._backups, self._wall.now())

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
            raise faults.newer(self.path, f"schema revision {revision}")
        return "older"

    def _opened_writer(self) -> Channel:
        if self._writer is None:
            self._writer = Channel(lambda: open_writer(self.path, self._wall))
        return self._writer

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Readers of several threads don't wait for each other: each takes an idle connection, or opens one."""
        try:
            channel = self._idle_readers.pop()
        except IndexError:
            channel = Channel(lambda: open_reader(self.path))
        try:
            with channel.reading() as connection:
                yield connection
        except BaseException:
            channel.close()
            raise
        self._idle_readers.append(channel)

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
