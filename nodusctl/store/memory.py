"""The same promises without a disk, safe between threads: for tests, and for reading a state that doesn't exist.

Everything is one frozen Book; a commit replaces it whole, so a change that fails half-way was never there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.intents import Intent, IntentState
from nodusctl.base.clock import Wall
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.ledger.entries import Entry
from nodusctl.ledger.room import HoldGuard, Tally, room_under
from nodusctl.lifecycle.news import overrun, save_failure
from nodusctl.lifecycle.passing import brief_of
from nodusctl.ports.books import Books
from nodusctl.ports.claims import Holder
from nodusctl.ports.journal import Change, Claim, Closing, Consumption, JournalRow, Opening, OperationNote, StoredObject
from nodusctl.ports.keys import StateKeys
from nodusctl.ports.passes import Glance, PassNote
from nodusctl.state.records import Record
from nodusctl.state.snapshot import Snapshot
from nodusctl.store.basis import refuse_stale
from nodusctl.store.book import Book
from nodusctl.store.key_keeping import KeyKeeper
from nodusctl.store.memory_books import MemoryBooks
from nodusctl.store.memory_changes import changed, consumed, ground, step_closed, step_opened
from nodusctl.store.memory_claims import MemoryClaims
from nodusctl.store.memory_keys import MemoryKeyedStore
from nodusctl.store.sealing import KeyMaterial, Vault


class Shelf:
    """Where the newest Book lies; ``change`` swaps it under a lock."""

    def __init__(self, *, is_read_only: bool = False) -> None:
        self._lock, self._is_read_only = threading.Lock(), is_read_only
        self.book, self.changes = Book(), 0

    def change(self, next_book: Callable[[Book], Book]) -> Book:
        """The Book ``next_book`` made of the newest one; nothing changes where it raises."""
        if self._is_read_only:
            raise RuntimeError("this state was opened for reading")
        with self._lock:
            self.book, self.changes = next_book(self.book), self.changes + 1
            return self.book


class MemoryPasses:
    """Passes that live as long as the process, over the state on ``shelf``."""

    def __init__(self, shelf: Shelf | None = None) -> None:
        self._shelf = shelf or Shelf()
        self._notes: list[PassNote] = []

    def glance(self) -> Glance:
        snapshot = self._shelf.book.snapshot()
        return Glance(lineage=snapshot.lineage, briefs=tuple(brief_of(one) for one in snapshot))

    def may_be_news(self) -> bool:
        return any(overrun(one) is not None or save_failure(one.status) is not None for one in self._shelf.book.snapshot())

    def note(self, one: PassNote) -> None:
        self._notes.append(one)

    def latest(self, limit: int = 20) -> tuple[PassNote, ...]:
        return tuple(reversed(self._notes))[:limit]


class MemoryState:
    """One state in memory. ``claims`` gives any number of processes' views of it."""

    def __init__(self, *, key: KeyMaterial, wall: Wall, place: Mapping[str, str] | None = None, is_read_only: bool = False) -> None:
        self._shelf, self._wall, self._place = Shelf(is_read_only=is_read_only), wall, place or {}
        self.passes = MemoryPasses(self._shelf)
        self.journal, self.keys = self.seen_with(key, may_create=not is_read_only)

    def seen_with(self, key: KeyMaterial, *, may_create: bool = True) -> tuple[MemoryJournal, StateKeys]:
        """The state as somebody with these keys sees it."""
        vault = Vault(key, may_create=may_create)
        return MemoryJournal(self._shelf, vault, self._wall, self._place), KeyKeeper(MemoryKeyedStore(self._shelf), vault)

    def claims(self, holder: Holder) -> MemoryClaims:
        """Claims as ``holder`` takes them."""
        return MemoryClaims(self._shelf, self._wall, holder)


class MemoryJournal:
    """The Journal over a Shelf."""

    def __init__(self, shelf: Shelf, vault: Vault, wall: Wall, place: Mapping[str, str]) -> None:
        self._shelf, self._vault, self._wall, self._place = shelf, vault, wall, place

    @property
    def _book(self) -> Book:
        return self._shelf.book

    def exists(self) -> bool:
        return bool(self._book.lineage)

    def lineage(self) -> str:
        return self._book.lineage

    def snapshot(self) -> Snapshot:
        return self._book.snapshot()

    def load(self, uid: str) -> StoredObject | None:
        return self._book.stored(uid)

    def load_many(self, uids: Iterable[str]) -> Mapping[str, StoredObject]:
        book = self._book
        found = {uid: book.stored(uid) for uid in dict.fromkeys(uids)}
        return {uid: stored for uid, stored in found.items() if stored is not None}

    def open_intents(self) -> tuple[Intent, ...]:
        return tuple(intent for intent in self._book.intents.values() if intent.state is IntentState.OPEN)

    def attempts(self, owner_uid: str = "") -> tuple[Attempt, ...]:
        return tuple(attempt for attempt in self._book.attempts.values() if owner_uid in ("", attempt.owner_uid))

    def events(self, object_uid: str = "") -> tuple[JournalRow, ...]:
        rows = (JournalRow(sequence=number, event=event) for number, event in enumerate(self._book.events, start=1))
        return tuple(row for row in rows if object_uid in ("", row.event.object_uid))

    def entries(self, object_uid: str = "") -> tuple[Entry, ...]:
        return tuple(entry for entry in self._book.entries if object_uid in ("", entry.object_uid))

    def records(self, kind: str) -> tuple[Record, ...]:
        found = (record for record in self._book.records.values() if record.address.kind == kind)
        return tuple(sorted(found, key=lambda record: record.address))

    def room(self, guards: Iterable[HoldGuard]) -> tuple[Money | None, ...]:
        tally = Tally().post(self._book.entries)
        return tuple(room_under(guard, tally) for guard in guards)

    def tally(self) -> Tally:
        return Tally().post(self._book.entries)

    @contextmanager
    def books(self) -> Iterator[Books]:
        yield MemoryBooks(self._book)

    def operations(self, limit: int = 50) -> tuple[OperationNote, ...]:
        return tuple(reversed([log.note for log in self._book.operations if log.has_moved_serial]))[:limit]

    def consumed_by(self, plan_hash: str, plan_id: str) -> OperationNote | None:
        return self._book.consumed_by(plan_hash, plan_id)

    def address_of(self, uid: str) -> Address | None:
        return self._book.names.get(uid)

    def consume(self, consumption: Consumption) -> int:
        refuse_stale(consumption, ground(self._book, consumption))
        return self._shelf.change(lambda book: consumed(book, self._vault, consumption)).serial

    def open(self, opening: Opening) -> None:
        self._shelf.change(lambda book: step_opened(book, self._vault, opening))

    def close(self, closing: Closing) -> None:
        self._shelf.change(lambda book: step_closed(book, self._vault, closing, self._wall.now()))

    def commit(self, changes: Iterable[Change]) -> frozenset[Claim]:
        lost: set[Claim] = set()
        self._shelf.change(lambda book: changed(book, self._vault, changes, self._wall.now(), lost))
        return frozenset(lost)

    def version(self) -> int:
        return self._shelf.changes

    def require_key(self) -> None:
        if self._book.ring.check:
            self._vault.seal(self._book.ring)

    def secret(self, name: str) -> str | None:
        book = self._book
        return self._vault.open(book.ring, name, book.sealed[name]) if name in book.sealed else None

    def fingerprint_secret(self, value: str) -> str:
        return self._vault.fingerprint(self._book.ring, value)

    def facts(self) -> Mapping[str, Any]:
        return {**self._place, **self._book.facts()}
