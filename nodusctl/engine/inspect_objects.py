"""``get``: which objects a person asked for, each as a whole document (envelope, spec, status).

Attempts are objects too, though nobody writes them: they come from the journal. So are Offerings, which come from the providers and
are listed by ``offers``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.ids import Address
from nodusctl.base.timestamps import format_time
from nodusctl.engine.inspect_attempts import attempt_document, attempt_labels, beside_each, without_empty
from nodusctl.engine.inspect_budgets import budget_status
from nodusctl.engine.inspect_receipts import entries_by_attempt, receipt_of
from nodusctl.engine.inspect_selector import Selector
from nodusctl.engine.inspect_status import status_document
from nodusctl.engine.inspect_times import DEFAULT_LEAD
from nodusctl.ledger.room import Tally
from nodusctl.ports.journal import Journal, StoredObject
from nodusctl.resources.kinds import API_VERSION, KINDS, KindFacts
from nodusctl.state.requests import OWN_REQUESTS
from nodusctl.state.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One word of the command line: a kind, or one object of it."""

    kind: KindFacts
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One object. ``stored`` is None for an Attempt."""

    address: Address
    document: Mapping[str, Any]
    stored: StoredObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was asked for, in order, and a diagnostic for each named object that isn't there."""

    seen: tuple[Seen, ...]
    missing: tuple[Diagnostic, ...] = ()


def find_objects(
    wanted: Sequence[Wanted], selector: Selector, *, journal: Journal, project: str, now: datetime, lead: timedelta = DEFAULT_LEAD
) -> Found:
    """Objects by kind or by name; a selector narrows lists and, as kubectl has it, named ones too."""
    snapshot = journal.snapshot()
    seen: list[Seen] = []
    missing: list[Diagnostic] = []
    for one in wanted:
        if one.kind.kind == "Attempt":
            ones = _attempts(selector, journal=journal, project=project, now=now)
        else:
            ones = _records(one, snapshot, selector, journal=journal, project=project, now=now, lead=lead)
        named = [found for found in ones if not one.name or found.address.name == one.name]
        if one.name and not named:
            known = [standing.record.address.name for standing in snapshot if standing.record.address.kind == one.kind.singular]
            missing.append(_not_found(Address(one.kind.singular, one.name), known or [other.address.name for other in ones]))
        seen += [found for found in named if found.address not in {other.address for other in seen}]
    return Found(seen=tuple(seen), missing=tuple(missing))


def envelope(
    stored: StoredObject,
    snapshot: Snapshot,
    *,
    project: str,
    now: datetime,
    tally: Tally | None = None,
    lead: timedelta = DEFAULT_LEAD,
) -> dict[str, Any]:
    """One object as ``get -o yaml`` prints it. ``tally`` are the ledger's sums, which only a Budget needs."""
    record = stored.record
    if record.address.kind == "budget":
        status = budget_status(record, stored.status, snapshot, tally or Tally(), project=project, now=now)
    else:
        status = status_document(stored, snapshot, now=now, lead=lead)
    facts = next((kind for kind in KINDS.values() if kind.singular == record.address.kind), None)
    is_org = facts is not None and facts.is_org
    metadata = {
        "name": record.address.name,
        "namespace": "" if is_org else project,
        "uid": record.uid,
        "generation": record.generation,
        "labels": dict(record.labels),
        "annotations": {key: text for key, text in record.annotations.items() if key not in OWN_REQUESTS},
        "creationTimestamp": format_time(record.created_at.replace(microsecond=0)),
        "deletionTimestamp": format_time(record.deletion_requested_at) if record.deletion_requested_at else "",
    }
    return without_empty(
        {
            "apiVersion": API_VERSION,
            "kind": facts.kind if facts else record.address.kind,
            "metadata": without_empty(metadata),
            "spec": dict(record.spec),
            "status": status,
        }
    )


def _records(
    wanted: Wanted, snapshot: Snapshot, selector: Selector, *, journal: Journal, project: str, now: datetime, lead: timedelta
) -> list[Seen]:
    records = [
        standing.record
        for standing in snapshot
        if standing.record.address.kind == wanted.kind.singular
        and wanted.name in {"", standing.record.address.name}
        and selector(standing.record.labels)
    ]
    stored = journal.load_many(record.uid for record in records)
    tally = journal.tally() if records and wanted.kind.kind == "Budget" else None
    return _sorted(
        Seen(
            address=record.address,
            document=envelope(stored[record.uid], snapshot, project=project, now=now, tally=tally, lead=lead),
            stored=stored[record.uid],
        )
        for record in records
        if record.uid in stored
    )


def _attempts(selector: Selector, *, journal: Journal, project: str, now: datetime) -> list[Seen]:
    by_attempt, beside = entries_by_attempt(journal.entries()), beside_each(journal)
    return [
        Seen(
            address=Address("attempt", attempt.name),
            document=attempt_document(receipt_of(attempt, by_attempt.get(attempt.uid, ()), now=now), project, beside(attempt)),
        )
        for attempt in journal.attempts()
        if selector(attempt_labels(attempt))
    ]


def _sorted(seen: Iterable[Seen]) -> list[Seen]:
    return sorted(seen, key=lambda one: one.address)


def _not_found(address: Address, others: Sequence[str]) -> Diagnostic:
    from nodusctl.base.nearest import nearest

    near = nearest(address.name, others)
    detail = f"The state has no {address}." + (f" The nearest name is {near}." if near else "")
    return error("NotFound", "There is no such object", detail, f"list what there is:\n  nodusctl get {address.kind}", address=str(address))
