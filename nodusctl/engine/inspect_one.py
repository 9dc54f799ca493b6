"""``describe`` and ``explain attempt/NAME``: everything stored about one object, gathered; nothing is asked of a provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nodusctl.attempts.intents import Intent
from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.base.nearest import nearest
from nodusctl.engine.inspect_history import Happening, happenings
from nodusctl.engine.inspect_objects import envelope
from nodusctl.engine.inspect_receipts import Receipt, entries_by_attempt, receipt_of
from nodusctl.engine.inspect_status import receipts_of
from nodusctl.ports.journal import Journal, StoredObject
from nodusctl.state.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """One object with its Attempts, its open intents and what happened to it."""

    address: Address
    stored: StoredObject
    document: Mapping[str, Any]
    receipts: tuple[Receipt, ...]
    history: tuple[Happening, ...]

    @property
    def open_intents(self) -> tuple[Intent, ...]:
        """Steps whose outcome isn't known yet."""
        return self.stored.intents


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFacts:
    """Why an Attempt got its machine: the terms that were approved, what was refused, what was taken."""

    receipt: Receipt
    approved: tuple[Terms, ...]
    history: tuple[Happening, ...]


def describe(address: Address, *, journal: Journal, project: str, now: datetime) -> Description:
    """Everything about the object at ``address``; UserError (NotFound) where there is none."""
    snapshot = journal.snapshot()
    standing = snapshot.get(address)
    stored = journal.load(standing.record.uid) if standing is not None else None
    if stored is None:
        raise UserError(_not_found(address, [str(one.record.address) for one in snapshot]))
    return Description(
        address=address,
        stored=stored,
        document=envelope(stored, snapshot, project=project, now=now),
        receipts=receipts_of(stored, now=now),
        history=happenings(journal.events(stored.record.uid)),
    )


def explain_attempt(name: str, *, journal: Journal, now: datetime) -> AttemptFacts:
    """The facts behind one Attempt, by its name (``lab-1``); UserError (NotFound) where there is none."""
    attempts = journal.attempts()
    attempt = next((one for one in attempts if name in {one.name, one.uid}), None)
    if attempt is None:
        raise UserError(_not_found(Address("attempt", name), [f"attempt/{one.name}" for one in attempts]))
    owner = journal.load(attempt.owner_uid)
    approval = owner.record.approval if owner is not None else None
    rows = [row for row in journal.events(attempt.owner_uid) if row.event.attempt_uid == attempt.uid]
    entries = entries_by_attempt(journal.entries(attempt.owner_uid)).get(attempt.uid, ())
    return AttemptFacts(
        receipt=receipt_of(attempt, entries, now=now),
        approved=approval.terms if approval is not None else (),
        history=happenings(rows),
    )


def _not_found(address: Address, others: list[str]) -> Any:
    near = nearest(str(address), others)
    detail = f"The state has no {address}." + (f" The nearest is {near}." if near else "")
    return error("NotFound", "There is no such object", detail, f"list what there is:\nnodusctl get {address.kind}", address=str(address))
