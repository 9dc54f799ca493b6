"""Opening a state: the one function the wiring calls.

The surprise: reading a state that doesn't exist never loads SQLAlchemy. It is answered by an empty store in memory, so ``plan`` in a new
project starts fast and writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from nodusctl.base.clock import Wall
from nodusctl.ports.claims import Claims, Holder
from nodusctl.ports.journal import Journal
from nodusctl.ports.passes import Passes
from nodusctl.store.holders import this_holder
from nodusctl.store.location import is_missing, path_of
from nodusctl.store.sealing import KeyMaterial, Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One state, open. ``path`` is its file; ``close`` gives the connections back and may be left out."""

    journal: Journal
    claims: Claims
    passes: Passes
    path: Path
    close: Callable[[], None]

    def __enter__(self) -> State:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def open_state(
    url: str, *, root: Path, key: KeyMaterial, wall: Wall, holder_command: str, read_only: bool = False, holder: Holder | None = None
) -> State:
    """The state at ``url`` (``sqlite:///PATH`` relative to ``root``); nothing is created before the first write.

    With ``read_only`` every write is a RuntimeError and no byte of the file changes. ``holder`` stands in for this process where a test
    needs another one. Raises UserError for a URL or a file that can't be a state; a newer schema is told at the first read.
    """
    path = path_of(url, root)
    holder = holder or this_holder(holder_command)
    if read_only and is_missing(path):
        return _empty(path, url, key, wall, holder)
    return _sqlite(path, url, key, wall, holder, read_only=read_only)


def _empty(path: Path, url: str, key: KeyMaterial, wall: Wall, holder: Holder) -> State:
    from nodusctl.store.memory import MemoryState

    memory = MemoryState(key=key, wall=wall, place={"url": url, "path": str(path)}, is_read_only=True)
    return State(journal=memory.journal, claims=memory.claims(holder), passes=memory.passes, path=path, close=_nothing)


def _sqlite(path: Path, url: str, key: KeyMaterial, wall: Wall, holder: Holder, *, read_only: bool) -> State:
    from nodusctl.store.connections import Database
    from nodusctl.store.passes import SqlitePasses
    from nodusctl.store.sqlite_claims import SqliteClaims
    from nodusctl.store.sqlite_journal import SqliteJournal

    database = Database(path, wall, is_read_only=read_only)
    return State(
        journal=SqliteJournal(database, Vault(key, may_create=not read_only), wall, url),
        claims=SqliteClaims(database, wall, holder),
        passes=SqlitePasses(database),
        path=path,
        close=database.close,
    )


def _nothing() -> None:
    """A store in memory holds no connection."""
