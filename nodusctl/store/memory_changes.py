"""What a consumption and the two atomic points make of a Book: pure, old one in, new one out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import assert_never

from nodusctl.attempts.events import Event
from nodusctl.attempts.intents import Intent, IntentState
from nodusctl.ledger.entries import Entry
from nodusctl.ledger.room import Tally, shortage
from nodusctl.ports.journal import Change, Claim, Closing, Consumption, HoldRefused, Opening, OperationNote, StaleClaim
from nodusctl.state.records import PutRecord, RecordChange
from nodusctl.state.status import ObjectStatus
from nodusctl.store.basis import Ground, carried_on, changed_uid, moves_serial, refuse_stale, sealed_prefixes, step_note
from nodusctl.store.book import Book, LoggedOperation
from nodusctl.store.freetext import without_secrets
from nodusctl.store.sealing import Vault
from nodusctl.store.seats import Seat


def ground(book: Book, consumption: Consumption) -> Ground:
    """What ``consumption`` meets here."""
    return Ground(
        lineage=book.lineage,
        serial=book.serial,
        consumed_by=book.consumed_by(consumption.plan_hash, consumption.plan_id),
        newest=book.newest_move,
    )


def consumed(book: Book, vault: Vault, consumption: Consumption) -> Book:
    """The Book once the plan has started; raises Stale."""
    refuse_stale(consumption, ground(book, consumption))
    book = replace(book, lineage=consumption.lineage, project=book.project or consumption.project)
    book = _sealed(book, vault, consumption.sealed)
    book = with_statuses(book, consumption.statuses)
    book, has_moved = _with_records(book, consumption.records)
    book = _with_entries(appended(book, consumption.events), consumption.entries)
    note = OperationNote(
        operation_id=consumption.operation_id,
        command=consumption.command,
        by=consumption.by,
        at=consumption.at,
        serial=book.serial,
        plan_hash=consumption.plan_hash,
        plan_id=consumption.plan_id,
        addresses=consumption.action_addresses,
    )
    return _logged(book, note, has_moved_serial=has_moved)


def step_opened(book: Book, vault: Vault, opening: Opening) -> Book:
    """The Book once a step is about to be taken; raises StaleClaim and HoldRefused."""
    require(book, opening.claim)
    short = shortage(opening.guards, opening.entries, Tally().post(book.entries)) if opening.guards else None
    if short is not None:
        raise HoldRefused(short)
    if opening.intent.id in book.intents:
        raise ValueError(f"intent {opening.intent.id} was opened before")
    book = _sealed(book, vault, opening.sealed)
    book = _with_intent(book, opening.intent)
    book = _with_entries(appended(book, opening.events), opening.entries)
    return with_statuses(book, opening.statuses)


def step_closed(book: Book, vault: Vault, closing: Closing, at: datetime) -> Book:
    """The Book once a step is over; raises StaleClaim."""
    seat = require(book, closing.claim)
    book = _sealed(book, vault, closing.sealed, closing.forgotten)
    if closing.intent is not None:
        stored = book.intents.get(closing.intent.id)
        if stored is None or stored.state is not IntentState.OPEN:
            raise StaleClaim(f"intent {closing.intent.id} is not open")
        book = _with_intent(book, closing.intent)
    book = _with_entries(appended(book, closing.events), closing.entries)
    book, has_moved = _with_records(with_statuses(book, closing.statuses), closing.records)
    return _logged(book, step_note(book.serial, seat.holder.command, closing, at), has_moved_serial=True) if has_moved else book


def changed(book: Book, vault: Vault, changes: Iterable[Change], at: datetime, lost: set[Claim]) -> Book:
    """The Book once all changes are carried out, but for those under a claim that was lost, which is added to ``lost``."""
    for change in changes:
        claim = change if isinstance(change, Claim) else change.claim
        if claim in lost:
            continue
        try:
            book = _carried_out(book, vault, change, at)
        except StaleClaim:
            lost.add(claim)
        except HoldRefused:
            book = given_back(book, claim)
            lost.add(claim)
    return book


def _carried_out(book: Book, vault: Vault, change: Change, at: datetime) -> Book:
    match change:
        case Opening():
            return step_opened(book, vault, change)
        case Closing():
            return step_closed(book, vault, change, at)
        case Claim():
            return given_back(book, change)
        case _:
            assert_never(change)


def given_back(book: Book, claim: Claim) -> Book:
    """The Book once a claim is given back; the same where somebody else holds the object by now."""
    seat = book.seats.get(claim.object_uid)
    if seat is None or seat.fence != claim.fence:
        return book
    return replace(book, seats={**book.seats, claim.object_uid: replace(seat, is_held=False)})


def require(book: Book, claim: Claim) -> Seat:
    """The Seat ``claim`` stands for; StaleClaim where it was taken over or given back."""
    seat = book.seats.get(claim.object_uid)
    if seat is None or not seat.is_of(claim):
        raise StaleClaim(f"claim {claim.fence} of {claim.object_uid} is not the newest")
    return seat


def appended(book: Book, events: Sequence[Event]) -> Book:
    """The Book with more in its journal."""
    cleaned = [without_secrets(event) for event in events]
    return replace(book, events=(*book.events, *cleaned), attempts=carried_on(book.attempts, cleaned)) if cleaned else book


def _with_entries(book: Book, entries: Sequence[Entry]) -> Book:
    known = {entry.id for entry in book.entries} if entries else set()
    if any(entry.id in known for entry in entries):
        raise ValueError("a ledger entry is never posted twice")
    return replace(book, entries=(*book.entries, *map(without_secrets, entries))) if entries else book


def _with_intent(book: Book, intent: Intent) -> Book:
    return replace(book, intents={**book.intents, intent.id: without_secrets(intent)})


def with_statuses(book: Book, statuses: Mapping[str, ObjectStatus]) -> Book:
    """The Book with these statuses in place of the former ones."""
    if not statuses:
        return book
    cleaned = {uid: without_secrets(status) for uid, status in statuses.items()}
    return replace(book, statuses={**book.statuses, **cleaned}, observations=book.observations + 1)


def _with_records(book: Book, changes: Sequence[RecordChange]) -> tuple[Book, bool]:
    uids = [changed_uid(change) for change in changes]
    after = {change.record.uid: change.record for change in changes if isinstance(change, PutRecord)}
    has_moved = any(moves_serial(book.records.get(uid), after.get(uid)) for uid in uids)
    records = {uid: record for uid, record in book.records.items() if uid not in uids} | after
    if len({record.address for record in records.values()}) != len(records):
        raise ValueError("two records of one address")
    gone = sealed_prefixes(changes)
    book = replace(
        book,
        records=records,
        sealed={name: value for name, value in book.sealed.items() if not name.startswith(gone)} if gone else book.sealed,
        statuses={uid: status for uid, status in book.statuses.items() if uid not in uids or uid in after},
        names={**book.names, **{uid: record.address for uid, record in after.items()}},
        serial=book.serial + 1 if has_moved else book.serial,
    )
    return book, has_moved


def _sealed(book: Book, vault: Vault, values: Mapping[str, str], forgotten: Sequence[str] = ()) -> Book:
    kept = {name: value for name, value in book.sealed.items() if name not in forgotten}
    closed = vault.close(book.ring, values) if values else {}
    return replace(book, sealed={**kept, **closed}, key_check=book.key_check or vault.used_check)


def _logged(book: Book, note: OperationNote, *, has_moved_serial: bool) -> Book:
    return replace(book, operations=(*book.operations, LoggedOperation(note=without_secrets(note), has_moved_serial=has_moved_serial)))
