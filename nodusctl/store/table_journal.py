"""The Journal in tables: every method is one transaction around functions that take its connection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.intents import Intent
from nodusctl.base.clock import Wall
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.ledger.entries import Entry
from nodusctl.ledger.room import HoldGuard, Tally
from nodusctl.ports.books import Books
from nodusctl.ports.journal import Change, Claim, Closing, Consumption, JournalRow, Opening, OperationNote, StoredObject
from nodusctl.state.records import Record
from nodusctl.state.snapshot import Snapshot
from nodusctl.store import consuming, desired, intentions, journaling, money, operations, reading, sealed_rows, steps
from nodusctl.store.basis import refuse_stale
from nodusctl.store.databases import Database
from nodusctl.store.sealing import NO_RING, Vault
from nodusctl.store.tallies import LedgerTally

if TYPE_CHECKING:
    from sqlalchemy import Connection

T = TypeVar("T")


class TableJournal:
    """One state in one database. ``place`` is what its facts say of where that is."""

    def __init__(self, database: Database, vault: Vault, wall: Wall, place: Mapping[str, str]) -> None:
        self._database, self._vault, self._wall, self._place = database, vault, wall, place
        self._tally = LedgerTally()

    def exists(self) -> bool:
        return bool(self.lineage())

    def lineage(self) -> str:
        head = self._read(desired.head, None)
        return head["lineage"] if head else ""

    def snapshot(self) -> Snapshot:
        return self._read(reading.snapshot, Snapshot())

    def load(self, uid: str) -> StoredObject | None:
        return self.load_many([uid]).get(uid)

    def load_many(self, uids: Iterable[str]) -> Mapping[str, StoredObject]:
        wanted = list(dict.fromkeys(uids))
        return self._read(lambda connection: reading.stored(connection, wanted), {})

    def open_intents(self) -> tuple[Intent, ...]:
        return self._read(intentions.open_ones, ())

    def attempts(self, owner_uid: str = "") -> tuple[Attempt, ...]:
        return self._read(lambda connection: journaling.attempts(connection, [owner_uid] if owner_uid else None), ())

    def events(self, object_uid: str = "") -> tuple[JournalRow, ...]:
        return self._read(lambda connection: journaling.rows(connection, object_uid), ())

    def entries(self, object_uid: str = "") -> tuple[Entry, ...]:
        return self._read(lambda connection: money.entries(connection, [object_uid] if object_uid else None), ())

    def records(self, kind: str) -> tuple[Record, ...]:
        return self._read(lambda connection: desired.records_of_kind(connection, kind), ())

    def room(self, guards: Iterable[HoldGuard]) -> tuple[Money | None, ...]:
        # Asked at every step of every object: as long as nobody has written since, the file isn't read.
        limits = tuple(guards)
        version = None if self._database.is_read_only else self._database.version()
        if version is None or not self._tally.is_fresh(version, limits):
            self._read(lambda connection: self._tally.bring_up(connection, limits, version), None)
        return self._tally.room(limits)

    def tally(self) -> Tally:
        return self._read(self._tally.copy, Tally())

    @contextmanager
    def books(self) -> Iterator[Books]:
        from nodusctl.store.auditing import TableBooks
        from nodusctl.store.memory_books import NO_BOOKS

        with self._database.read() as connection:
            yield TableBooks(connection) if connection is not None else NO_BOOKS

    def operations(self, limit: int = 50) -> tuple[OperationNote, ...]:
        return self._read(lambda connection: operations.that_moved_serial(connection, limit), ())

    def consumed_by(self, plan_hash: str, plan_id: str) -> OperationNote | None:
        return self._read(lambda connection: operations.consumed_by(connection, plan_hash, plan_id), None)

    def address_of(self, uid: str) -> Address | None:
        return self._read(lambda connection: desired.address_of(connection, uid), None)

    def consume(self, consumption: Consumption) -> int:
        # Looked at once before writing, so that a refused plan touches no byte and makes no file.
        ground = self._read(lambda connection: consuming.ground(connection, consumption), None)
        refuse_stale(consumption, ground or consuming.ground(None, consumption))
        serial = self._database.changing(lambda connection: consuming.consume(connection, self._vault, consumption))
        self._tally.outdate()
        return serial

    def open(self, opening: Opening) -> None:
        self._database.changing(lambda connection: steps.open_step(connection, self._vault, self._tally, opening))
        self._tally.outdate()

    def close(self, closing: Closing) -> None:
        self._database.changing(lambda connection: steps.close_step(connection, self._vault, closing, self._wall.now()))
        self._tally.outdate()

    def commit(self, changes: Iterable[Change]) -> frozenset[Claim]:
        in_order = tuple(changes)
        is_durable = not all(isinstance(change, Claim) for change in in_order)
        lost = self._database.changing(
            lambda connection: steps.commit(connection, self._vault, self._tally, in_order, self._wall.now()), is_durable=is_durable
        )
        if is_durable:
            self._tally.outdate()
        return lost

    def version(self) -> int:
        return self._database.version()

    def require_key(self) -> None:
        ring = self._read(sealed_rows.whole_ring, NO_RING)
        if ring.check:
            self._vault.seal(ring)

    def secret(self, name: str) -> str | None:
        return self._read(lambda connection: sealed_rows.read(connection, self._vault, name), None)

    def fingerprint_secret(self, value: str) -> str:
        return self._vault.fingerprint(self._read(sealed_rows.whole_ring, NO_RING), value)

    def facts(self) -> Mapping[str, Any]:
        return {**self._place, "lineage": "", "serial": 0, **self._read(reading.facts, {})}

    def _read(self, question: Callable[[Connection], T], when_missing: T) -> T:
        return self._database.reading(question, when_missing)
