"""Opening a state: the one function the wiring calls.

The surprise: reading a state that doesn't exist never loads SQLAlchemy. It is answered by an empty store in memory, so ``plan`` in a new
project starts fast and writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from nodusctl.base.clock import Wall
from nodusctl.base.redaction import clean
from nodusctl.ports.claims import Claims, Holder
from nodusctl.ports.journal import Journal
from nodusctl.ports.keys import StateKeys
from nodusctl.ports.passes import Passes
from nodusctl.ports.pulled import StateCopies
from nodusctl.store.holders import this_holder
from nodusctl.store.location import BACKUPS, OWN_FOLDER, is_missing, path_of
from nodusctl.store.postgres_place import PostgresPlace, is_postgres, require_driver
from nodusctl.store.sealing import KeyMaterial, Vault

if TYPE_CHECKING:
    from nodusctl.store.backups import Backups
    from nodusctl.store.databases import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One state, open. ``path`` is its file, None on a server; ``close`` gives the connections back and may be left out."""

    journal: Journal
    claims: Claims
    passes: Passes
    keys: StateKeys
    copies: StateCopies
    path: Path | None
    close: Callable[[], None]

    def __enter__(self) -> State:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def open_state(
    url: str, *, root: Path, key: KeyMaterial, wall: Wall, holder_command: str, read_only: bool = False, holder: Holder | None = None
) -> State:
    """The state at ``url``: ``sqlite:///PATH`` relative to ``root``, or ``postgresql://…``. Nothing is created before the first write.

    With ``read_only`` every write is a RuntimeError and no byte of the state changes. ``holder`` stands in for this process where a test
    needs another one. Raises UserError for a URL or a file that can't be a state; a server out of reach and a newer schema are told at the
    first read.
    """
    holder = holder or this_holder(clean(holder_command))
    if is_postgres(url):
        return _postgres(url, root, key, wall, holder, read_only=read_only)
    path = path_of(url, root)
    if read_only and is_missing(path):
        return _empty(path, url, key, wall, holder)
    return _sqlite(path, url, key, wall, holder, read_only=read_only)


def state_in(
    database: Database,
    *,
    place: Mapping[str, str],
    key: KeyMaterial,
    wall: Wall,
    holder: Holder,
    backups: Backups,
    path: Path | None = None,
) -> State:
    """The state in ``database``; ``wall`` is the time its claims and locks go by, ``place`` what its facts say of where it is."""
    from nodusctl.store.key_keeping import KeyKeeper
    from nodusctl.store.passes import TablePasses
    from nodusctl.store.table_claims import TableClaims
    from nodusctl.store.table_copies import TableCopies
    from nodusctl.store.table_journal import TableJournal
    from nodusctl.store.table_keys import TableKeyedStore

    vault = Vault(key, may_create=not database.is_read_only)
    return State(
        journal=TableJournal(database, vault, wall, place),
        claims=TableClaims(database, wall, holder),
        passes=TablePasses(database),
        keys=KeyKeeper(TableKeyedStore(database), vault),
        copies=TableCopies(database, backups, wall),
        path=path,
        close=database.close,
    )


def _empty(path: Path, url: str, key: KeyMaterial, wall: Wall, holder: Holder) -> State:
    from nodusctl.store.memory import MemoryState
    from nodusctl.store.no_copies import NoCopies

    memory = MemoryState(key=key, wall=wall, place={"url": url, "path": str(path)}, is_read_only=True)
    return State(
        journal=memory.journal,
        claims=memory.claims(holder),
        passes=memory.passes,
        keys=memory.keys,
        copies=NoCopies(path.parent / BACKUPS),
        path=path,
        close=_nothing,
    )


def _sqlite(path: Path, url: str, key: KeyMaterial, wall: Wall, holder: Holder, *, read_only: bool) -> State:
    from nodusctl.store.backups import Backups
    from nodusctl.store.connections import SqliteDatabase

    backups = Backups(path.parent / BACKUPS)
    database = SqliteDatabase(path, wall, is_read_only=read_only, backups=backups)
    return state_in(database, place={"url": url, "path": str(path)}, key=key, wall=wall, holder=holder, backups=backups, path=path)


def _postgres(url: str, root: Path, key: KeyMaterial, wall: Wall, holder: Holder, *, read_only: bool) -> State:
    place = PostgresPlace(url, f"{holder.user}@{holder.host} {holder.command}")
    require_driver()
    from nodusctl.store.backups import Backups
    from nodusctl.store.postgres_database import PostgresDatabase
    from nodusctl.store.server_wall import ServerWall

    backups = Backups(root / OWN_FOLDER / BACKUPS)
    database = PostgresDatabase(place, wall, is_read_only=read_only, backups=backups)
    shared = ServerWall(wall, database.ahead)
    return state_in(database, place={"url": place.shown}, key=key, wall=shared, holder=holder, backups=backups)


def _nothing() -> None:
    """A store in memory holds no connection."""
