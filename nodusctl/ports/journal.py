"""The state as the doers see it: reading, and the two atomic points ``open`` and ``close``.

Nothing else changes the outside half of the state. ``open`` commits what we are about to do; ``close`` commits what came of it,
with its events, money and records, all or none. Between them no transaction is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import Event
from nodusctl.attempts.intents import Intent
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.ledger.entries import Entry
from nodusctl.ledger.room import HoldGuard, Shortage, Tally
from nodusctl.ports.books import Books
from nodusctl.state.records import Record, RecordChange
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import ObjectStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to take one step of one object. ``fence`` rises with each claim of that object; an older one can't commit."""

    object_uid: str
    fence: int
    holder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """All that is stored about one object: record, status, Attempts (folded), open intents, and ledger sums per Attempt uid."""

    record: Record
    status: ObjectStatus
    attempts: tuple[Attempt, ...] = ()
    intents: tuple[Intent, ...] = ()
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What is committed before a call. ``sealed`` maps a vault name to text that is stored encrypted only.

    ``guards`` are limits its holds must fit at the moment they are posted: check and hold are one transaction.
    """

    claim: Claim
    intent: Intent
    events: tuple[Event, ...] = ()
    entries: tuple[Entry, ...] = ()
    statuses: Mapping[str, ObjectStatus] = field(default_factory=dict)
    sealed: Mapping[str, str] = field(default_factory=dict, repr=False)
    guards: tuple[HoldGuard, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """What is committed after a call, or for a step that makes none (``intent`` None).

    ``intent`` is the intent in its new form: closed, cancelled, or still open with one more absence. ``forgotten`` lists vault
    names to delete.
    """

    claim: Claim
    intent: Intent | None = None
    events: tuple[Event, ...] = ()
    entries: tuple[Entry, ...] = ()
    statuses: Mapping[str, ObjectStatus] = field(default_factory=dict)
    records: tuple[RecordChange, ...] = ()
    sealed: Mapping[str, str] = field(default_factory=dict, repr=False)
    forgotten: tuple[str, ...] = ()


Change = Opening | Closing | Claim
"""A part of one commit. A Claim in it is given back, as ``Claims.drop`` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumption:
    """A plan being started: its basis, what it changes in the desired half, and who does it.

    ``lineage`` is minted by the plan where there was no state. ``plan_hash`` with ``plan_id`` is what may be consumed once;
    ``is_resumption`` starts the rest of a plan that was consumed before. ``action_addresses`` are the Actions whose records are written, by
    this operation or an earlier one of the same plan. ``entries`` are what a person posts by hand (a grant).
    """

    operation_id: str
    command: str
    by: str
    at: datetime
    lineage: str
    serial: int
    plan_hash: str
    plan_id: str
    action_addresses: tuple[str, ...]
    records: tuple[RecordChange, ...] = ()
    statuses: Mapping[str, ObjectStatus] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    sealed: Mapping[str, str] = field(default_factory=dict, repr=False)
    project: str = "default"
    entries: tuple[Entry, ...] = ()
    is_resumption: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationNote:
    """One operation that moved the serial: for "serial moved by …" and "consumed by …" messages.

    ``plan_id`` is empty for a step that removed a record. ``addresses`` are the Actions it, or an earlier one of its plan, wrote down.
    """

    operation_id: str
    command: str
    by: str
    at: datetime
    serial: int
    plan_hash: str
    plan_id: str
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRow:
    """One event with its place in the journal."""

    sequence: int
    event: Event


class Stale(Exception):
    """``consume`` found the state moved: ``kind`` is consumed, lineage or serial; ``by`` the operation that did it, if known.

    StaleClaim is its sibling for steps.
    """

    def __init__(self, kind: str, by: OperationNote | None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.by = by


class StaleClaim(Exception):
    """A step tried to commit under a fence that is no longer the newest, or under a claim it lost."""


class HoldRefused(Exception):
    """A hold no longer fits a limit it was decided under: somebody else has taken what was left since. Nothing was written."""

    def __init__(self, shortage: Shortage) -> None:
        super().__init__(f"{shortage.guard.name}: {shortage.needed} needed, {shortage.remaining} left")
        self.shortage = shortage


class Journal(Protocol):
    """One state."""

    def exists(self) -> bool:
        """False before the first consumption."""
        ...

    def lineage(self) -> str:
        """The state's identity; empty where it doesn't exist yet."""
        ...

    def snapshot(self) -> Snapshot:
        """All records with status and ledger sums, at one moment."""
        ...

    def load(self, uid: str) -> StoredObject | None:
        """One object with everything about it."""
        ...

    def load_many(self, uids: Iterable[str]) -> Mapping[str, StoredObject]:
        """Several objects in one read."""
        ...

    def open_intents(self) -> tuple[Intent, ...]:
        """Every open intent, oldest first."""
        ...

    def attempts(self, owner_uid: str = "") -> tuple[Attempt, ...]:
        """All Attempts ever (of one owner), removed owners' too."""
        ...

    def events(self, object_uid: str = "") -> tuple[JournalRow, ...]:
        """The journal in order (of one object)."""
        ...

    def entries(self, object_uid: str = "") -> tuple[Entry, ...]:
        """The ledger in order (of one object)."""
        ...

    def records(self, kind: str) -> tuple[Record, ...]:
        """Records of one kind (``budget``), by address."""
        ...

    def room(self, guards: Iterable[HoldGuard]) -> tuple[Money | None, ...]:
        """What each limit has left now, below zero where it is passed; None where it limits nothing. All as of one moment."""
        ...

    def tally(self) -> Tally:
        """The sums all limits are reckoned from, as of one moment."""
        ...

    def books(self) -> AbstractContextManager[Books]:
        """Everything money rests on, to be walked row by row as of one moment; open only inside the block."""
        ...

    def operations(self, limit: int = 50) -> tuple[OperationNote, ...]:
        """Operations that moved the serial, newest first."""
        ...

    def consumed_by(self, plan_hash: str, plan_id: str) -> OperationNote | None:
        """The operation that consumed this plan, the newest where it was resumed; None where nobody did."""
        ...

    def address_of(self, uid: str) -> Address | None:
        """The address a uid has or last had."""
        ...

    def consume(self, consumption: Consumption) -> int:
        """Start a plan: one transaction that checks lineage, serial and single use, writes, and returns the new serial.

        Raises Stale. The serial rises only if records change.
        """
        ...

    def open(self, opening: Opening) -> None:
        """Commit an intent before its call; StaleClaim where the claim is no longer the newest, HoldRefused where a guard has no room."""
        ...

    def close(self, closing: Closing) -> None:
        """Commit what came of it; StaleClaim as above. Closing an intent that is already closed is StaleClaim too."""
        ...

    def commit(self, changes: Iterable[Change]) -> frozenset[Claim]:
        """Carry ``changes`` out in order, as one transaction; the claims that were lost.

        Where ``open`` or ``close`` would raise StaleClaim, that change and all later ones under its claim are left out, and its claim is
        among those returned. So it is where ``open`` would raise HoldRefused, and that claim is given back. Whatever else is raised undoes
        them all.
        """
        ...

    def version(self) -> int:
        """A number that is another one whenever somebody else has committed since; one's own commits may change it too."""
        ...

    def require_key(self) -> None:
        """UserError where this process can't open what the state has sealed: no step of a machine could be taken.

        A state that has sealed nothing yet has no key.
        """
        ...

    def secret(self, name: str) -> str | None:
        """A sealed value in clear, remembered by the redactor; None where there is none."""
        ...

    def fingerprint_secret(self, value: str) -> str:
        """A keyed HMAC of ``value`` (hex), equal for equal bytes in this state only."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """URL, path, schema revision, serial: for ``state show``."""
        ...
