"""The Book: everything a state in memory holds, frozen, with the reads a Journal needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import Event
from nodusctl.attempts.intents import Intent, IntentState
from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money
from nodusctl.ledger.entries import Entry
from nodusctl.ports.claims import Holder
from nodusctl.ports.journal import OperationNote, StoredObject
from nodusctl.state.records import Record
from nodusctl.state.snapshot import Snapshot, Standing
from nodusctl.state.status import ObjectStatus
from nodusctl.store.basis import CHARGED, HELD, side_of
from nodusctl.store.sealing import Ring
from nodusctl.store.seals import KeyCopy
from nodusctl.store.seats import Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedOperation:
    """An operation and whether it moved the serial."""

    note: OperationNote
    has_moved_serial: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldLock:
    """The plan lock while somebody has it."""

    id: str
    holder: Holder
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """One moment of a state. Mappings are by uid, intents by id, in the order they came."""

    lineage: str = ""
    project: str = ""
    serial: int = 0
    observations: int = 0
    key_check: str = ""
    records: Mapping[str, Record] = field(default_factory=dict)
    names: Mapping[str, Address] = field(default_factory=dict)
    statuses: Mapping[str, ObjectStatus] = field(default_factory=dict)
    intents: Mapping[str, Intent] = field(default_factory=dict)
    attempts: Mapping[str, Attempt] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    entries: tuple[Entry, ...] = ()
    operations: tuple[LoggedOperation, ...] = ()
    sealed: Mapping[str, bytes] = field(default_factory=dict)
    copies: Mapping[str, KeyCopy] = field(default_factory=dict)
    seats: Mapping[str, Seat] = field(default_factory=dict)
    plan_lock: HeldLock | None = None

    @property
    def ring(self) -> Ring:
        """How it recognises its key, and the copies it holds of it."""
        return Ring(self.key_check, lambda: tuple(copy for _, copy in sorted(self.copies.items())))

    def snapshot(self) -> Snapshot:
        """All records with status and ledger sums."""
        sums = self._sums()
        open_ones = [intent for intent in self.intents.values() if intent.state is IntentState.OPEN]
        touched = {uid for intent in open_ones for uid in (intent.object_uid, intent.target_uid)}
        in_order = sorted(self.records.values(), key=lambda record: record.address)
        standings = {
            record.address: Standing(
                record=record,
                status=self.statuses.get(record.uid) or ObjectStatus(),
                charged_usd=sums[record.uid, CHARGED],
                held_usd=sums[record.uid, HELD],
                has_open_intent=record.uid in touched,
            )
            for record in in_order
        }
        return Snapshot(lineage=self.lineage, serial=self.serial, standings=standings)

    def _sums(self) -> Mapping[tuple[str, str], Money]:
        sums: dict[tuple[str, str], Money] = defaultdict(lambda: ZERO)
        for entry in self.entries:
            for posting in entry.postings:
                sums[entry.object_uid, side_of(posting)] += posting.amount
        return sums

    def stored(self, uid: str) -> StoredObject | None:
        """Everything about one object; None where it has no record."""
        record = self.records.get(uid)
        if record is None:
            return None
        return StoredObject(
            record=record,
            status=self.statuses.get(uid) or ObjectStatus(),
            attempts=tuple(attempt for attempt in self.attempts.values() if attempt.owner_uid == uid),
            intents=tuple(i for i in self.intents.values() if i.state is IntentState.OPEN and i.object_uid == uid),
            entries=tuple(entry for entry in self.entries if entry.object_uid == uid),
        )

    def consumed_by(self, plan_hash: str, plan_id: str) -> OperationNote | None:
        """The operation that started this plan, the newest where it was resumed, if it came from a file."""
        notes = (log.note for log in reversed(self.operations))
        return next((note for note in notes if plan_id and (note.plan_hash, note.plan_id) == (plan_hash, plan_id)), None)

    @property
    def newest_move(self) -> OperationNote | None:
        """The operation that moved the serial last."""
        return next((log.note for log in reversed(self.operations) if log.has_moved_serial), None)

    def facts(self) -> Mapping[str, Any]:
        """Identity, counters and sizes."""
        return {
            "lineage": self.lineage,
            "project": self.project,
            "serial": self.serial,
            "observations": self.observations,
            "records": len(self.records),
            "attempts": len(self.attempts),
            "events": len(self.events),
            "entries": len(self.entries),
            "open_intents": sum(intent.state is IntentState.OPEN for intent in self.intents.values()),
        }
