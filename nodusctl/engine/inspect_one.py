"""``describe`` and ``explain attempt/NAME``: everything stored about one object, gathered; nothing is asked of a provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.intents import Intent
from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.base.nearest import nearest
from nodusctl.engine.inspect_attempts import attempt_document, beside_each, is_in_force
from nodusctl.engine.inspect_history import Happening, happenings
from nodusctl.engine.inspect_objects import envelope
from nodusctl.engine.inspect_receipts import Receipt, entries_by_attempt, receipt_of
from nodusctl.engine.inspect_status import receipts_of
from nodusctl.engine.inspect_times import DEFAULT_LEAD, Times, times_of
from nodusctl.plan.costs import CostLine
from nodusctl.plan.plan import Plan
from nodusctl.ports.journal import Journal, JournalRow, StoredObject
from nodusctl.state.terms import Approval, Terms

_SHORT_UID = 8
"""As many characters of a uid as receipts show where names are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """One object with its Attempts, open intents and what happened to it. An Attempt has no ``stored``; only a Workspace has ``times``."""

    address: Address
    stored: StoredObject | None
    document: Mapping[str, Any]
    receipts: tuple[Receipt, ...]
    history: tuple[Happening, ...]
    times: Times | None = None

    @property
    def open_intents(self) -> tuple[Intent, ...]:
        """Steps whose outcome isn't known yet."""
        return self.stored.intents if self.stored is not None else ()

    @property
    def source(self) -> str:
        """The file it was written in; empty where nobody wrote it."""
        return self.stored.record.source if self.stored is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFacts:
    """Why an Attempt got its machine, as far as this state still knows.

    ``approval`` is the owner's last one; ``is_in_force`` says whether it is the one this Attempt was placed under (a later plan replaces
    it). ``reviewed`` is the cost line of the kept plan behind it: the funnel of offers and the estimate; None where the plan isn't kept.
    ``namesakes`` are other Attempts of the same name, newest first: an object that is removed and made again counts from 1 again.
    """

    receipt: Receipt
    approval: Approval | None
    is_in_force: bool
    reviewed: CostLine | None
    history: tuple[Happening, ...]
    namesakes: tuple[Attempt, ...] = ()

    @property
    def approved(self) -> tuple[Terms, ...]:
        """The offers that may be tried, in order."""
        return self.approval.terms if self.approval is not None else ()


def describe(address: Address, *, journal: Journal, project: str, now: datetime, lead: timedelta = DEFAULT_LEAD) -> Description:
    """Everything about the object at ``address``; UserError (NotFound) where there is none."""
    if address.kind == "attempt":
        return _attempt_description(address.name, journal=journal, project=project, now=now)
    snapshot = journal.snapshot()
    standing = snapshot.get(address)
    stored = journal.load(standing.record.uid) if standing is not None else None
    if stored is None:
        raise UserError(_not_found(address, [str(one.record.address) for one in snapshot]))
    return Description(
        address=address,
        stored=stored,
        document=envelope(
            stored, snapshot, project=project, now=now, tally=journal.tally() if address.kind == "budget" else None, lead=lead
        ),
        receipts=receipts_of(stored, now=now),
        history=happenings(_events_about(address, stored.record.uid, journal)),
        times=times_of(stored, now=now, lead=lead) if address.kind == "workspace" else None,
    )


def _events_about(address: Address, uid: str, journal: Journal) -> list[JournalRow]:
    """Its own events and, for a Volume, those of the machines it served: a home is saved by its Workspace's steps."""
    if address.kind != "volume":
        return list(journal.events(uid))
    return [row for row in journal.events() if row.event.object_uid == uid or getattr(row.event, "volume", None) == address]


def _attempt_description(name: str, *, journal: Journal, project: str, now: datetime) -> Description:
    facts = explain_attempt(name, journal=journal, now=now)
    return Description(
        address=Address("attempt", facts.receipt.attempt.name),
        stored=None,
        document=attempt_document(facts.receipt, project, beside_each(journal)(facts.receipt.attempt)),
        receipts=(facts.receipt,),
        history=facts.history,
    )


KeptPlan = Callable[[str], Plan | None]
"""The kept plan with a hash, or None."""


def no_plan(plan_hash: str) -> Plan | None:
    """Where plans aren't looked up."""
    return None


def explain_attempt(name: str, *, journal: Journal, now: datetime, kept_plan: KeptPlan = no_plan) -> AttemptFacts:
    """The facts behind one Attempt, by its name (``lab-1``: the newest of that name), its uid or its uid's first 8 characters.

    UserError (NotFound) where there is none.
    """
    attempts = journal.attempts()
    attempt = next((one for one in reversed(attempts) if _is_called(one, name)), None)
    if attempt is None:
        raise UserError(_not_found(Address("attempt", name), [f"attempt/{one.name}" for one in attempts]))
    owner = journal.load(attempt.owner_uid)
    approval = owner.record.approval if owner is not None else None
    rows = [row for row in journal.events(attempt.owner_uid) if row.event.attempt_uid == attempt.uid]
    entries = entries_by_attempt(journal.entries(attempt.owner_uid)).get(attempt.uid, ())
    return AttemptFacts(
        receipt=receipt_of(attempt, entries, now=now),
        approval=approval,
        is_in_force=is_in_force(approval, attempt),
        reviewed=_reviewed(attempt.owner, approval, kept_plan),
        history=happenings(rows),
        namesakes=tuple(one for one in reversed(attempts) if one.name == attempt.name and one.uid != attempt.uid),
    )


def _is_called(attempt: Attempt, word: str) -> bool:
    return word in {attempt.name, attempt.uid, attempt.uid[:_SHORT_UID]}


def _reviewed(owner: Address, approval: Approval | None, kept_plan: KeptPlan) -> CostLine | None:
    plan = kept_plan(approval.plan_hash) if approval is not None else None
    return next((line for line in plan.costs if line.address == owner), None) if plan is not None else None


def _not_found(address: Address, others: list[str]) -> Any:
    near = nearest(str(address), others)
    detail = f"The state has no {address}." + (f" The nearest is {near}." if near else "")
    return error("NotFound", "There is no such object", detail, f"list what there is:\nnodusctl get {address.kind}", address=str(address))
