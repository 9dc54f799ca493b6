"""``receipts --verify`` over hand-made books: what is right passes in every shape it may have, and each kind of tampering is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from support.history import LEASE, START, Past, books_of, cost, session, terms_of

from nodusctl.attempts import events as facts
from nodusctl.base.money import ZERO, Money
from nodusctl.engine.findings import Fault
from nodusctl.engine.rate_origins import RateOrigins, Trace
from nodusctl.engine.verifying import Verification, verify_receipts
from nodusctl.ledger import build
from nodusctl.ledger.entries import AVAILABLE, Entry, EntryKind, Posting, charged, held
from nodusctl.pricing.book import EMPTY_BOOK
from nodusctl.store.memory_books import MemoryBooks

LATER = START + timedelta(days=400)


def verified(books: MemoryBooks, now: datetime = LATER) -> Verification:
    return verify_receipts(books, origins=RateOrigins(lambda: EMPTY_BOOK, {}), now=now)


def faults(books: MemoryBooks, now: datetime = LATER) -> list[Fault]:
    return [one.fault for one in verified(books, now).findings]


def until(past: Past, kind: type) -> Past:
    """The same Attempt when its newest event is one of ``kind``, with the entries of that moment: its hold."""
    place = next(number for number, event in enumerate(past.events) if isinstance(event, kind))
    return Past(events=past.events[: place + 1], entries=past.entries[:1])


def changed(past: Past, kind: type, **fields: Any) -> Past:
    """The Attempt with another event in the place of one of ``kind``."""
    events = tuple(replace(event, **fields) if isinstance(event, kind) else event for event in past.events)
    return replace(past, events=events)


# What is right


def test_a_hundred_sessions_are_right_and_their_sum_is_exact() -> None:
    pasts = [session(number) for number in range(100)]
    found = verified(books_of(*pasts))
    sums = sum(entry.moved(charged(entry.attempt_uid)).micro for past in pasts for entry in past.entries)
    assert found == Verification(
        receipts=100, open_receipts=0, charged_usd=Money(sums), storage_usd=ZERO, rates={Trace.QUOTED: 100}, findings=()
    )


def test_an_empty_state_has_nothing_to_differ() -> None:
    assert verified(books_of()).findings == ()


def test_several_captures_at_renewals_and_month_ends_sum_to_the_charge() -> None:
    """Two renewals and a month's end: every capture is of exact time, and only the last one is rounded to the increment."""
    terms = terms_of(increment_seconds=3600, minimum_seconds=60)
    past = session(terms=terms, queued_at=datetime.fromisoformat("2024-01-31T20:00:00+00:00"), runs=timedelta(hours=14))
    began, ended = past.events[2].time, past.events[-1].time
    moments = [began + timedelta(hours=4), began + timedelta(hours=8)]
    entries: list[Entry] = [past.entries[0]]
    uid, captured, now_held = past.uid, ZERO, past.entries[0].moved(held(past.uid))
    for number, moment in enumerate(moments, start=1):
        used = cost(replace(terms, increment_seconds=1, minimum_seconds=0), moment - began) - captured
        entries.append(build.capture(f"{uid}/capture/{number}", moment, past.subject, used, held_now=now_held))
        captured, now_held = captured + used, now_held - used
        more = cost(terms, moment - began + LEASE + terms.stop_bound) - captured - now_held
        entries.append(build.renew(f"{uid}/renew/{number}", moment, past.subject, more))
        now_held += more
    balance = build.AttemptBalance(held=now_held, charged=captured)
    entries += build.settle_attempt(("f1", "f2"), ended, past.subject, total_charge=cost(terms, ended - began), balance=balance)
    assert [entry.kind for entry in entries].count(EntryKind.CAPTURE) == 3
    found = verified(books_of(past, entries=entries))
    assert (found.findings, found.charged_usd) == ((), cost(terms, ended - began))


def test_a_capture_that_was_too_high_is_right_once_it_is_corrected() -> None:
    past = session()
    uid, total = past.uid, sum(e.moved(charged(past.uid)).micro for e in past.entries)
    first = build.capture(f"{uid}/capture/1", LATER, past.subject, Money(total + 500), held_now=past.entries[0].moved(held(uid)))
    back = build.correction(f"{uid}/correction/1", LATER, past.subject, Money(-500), corrects=first.id)
    left = past.entries[0].moved(held(uid)) - Money(total + 500)
    rest = build.release(f"{uid}/release/final", LATER, past.subject, left)
    assert verified(books_of(past, entries=[past.entries[0], first, back, rest])).findings == ()


def test_an_attempt_that_replaced_a_lost_one_restores_instead_of_booting() -> None:
    lost = session(1)
    found = verified(books_of(lost, session(51, replaces=lost.uid)))
    assert (found.receipts, found.findings) == (2, ())


@pytest.mark.parametrize("kind", [facts.TermsFrozen, facts.LaunchAccepted, facts.BecameReady, facts.StopAsked])
def test_an_open_attempt_is_right_while_its_hold_reaches_to_its_edge(kind: type) -> None:
    past = until(session(3), kind)
    found = verified(books_of(past), now=past.events[-1].time)
    assert (found.findings, found.open_receipts) == ((), found.receipts)


def test_a_hold_that_reaches_exactly_to_the_edge_is_enough_and_a_minute_less_is_not() -> None:
    past = until(session(3), facts.BecameReady)
    short = (past.entries[0].moved(held(past.uid)) - Money(20_000)).micro
    less = _with(past.entries[0], (AVAILABLE, -short), (held(past.uid), short))
    assert faults(books_of(past), past.events[-1].time) == []
    assert faults(books_of(past, entries=[less]), past.events[-1].time) == [Fault.HOLD]


def test_an_edge_later_than_what_is_held_for_is_found() -> None:
    past = until(session(3), facts.EdgeArmed)
    later = changed(past, facts.EdgeArmed, until=START + LEASE * 2)
    assert faults(books_of(later), past.events[-1].time) == [Fault.HOLD]


def test_an_interruptible_machine_is_held_for_at_its_ceiling() -> None:
    terms = terms_of(is_interruptible=True)
    past = until(session(terms=terms), facts.BecameReady)
    assert faults(books_of(past), past.events[-1].time) == [Fault.HOLD], "held at the rate, not at the ceiling"


def test_a_refused_launch_and_one_that_never_came_cost_nothing_and_hold_nothing() -> None:
    past = until(session(2), facts.TermsFrozen)
    of_it = {"object_uid": past.subject.object_uid, "attempt_uid": past.uid}
    refused = facts.LaunchRefused(time=LATER, offer_key="sim/x", code="CapacityUnavailable", scope="zone", **of_it)
    back = build.release(f"{past.uid}/release/1", LATER, past.subject, past.entries[0].moved(held(past.uid)))
    closed = facts.AttemptClosed(time=LATER, phase="Cancelled", **of_it)
    over = Past(events=(*past.events, refused, closed), entries=(*past.entries, back))
    assert verified(books_of(over)) == Verification(receipts=0, open_receipts=0, charged_usd=ZERO, storage_usd=ZERO, rates={}, findings=())
    assert faults(books_of(over, entries=past.entries)) == [Fault.STILL_HELD]


# Tampering: every kind must be found, and found at the Attempt it was done to

PAST = session(5)
UID = PAST.uid
CAPTURE = next(entry for entry in PAST.entries if entry.kind is EntryKind.CAPTURE)


def _with(entry: Entry, *postings: tuple[str, int], **fields: Any) -> Entry:
    return replace(entry, postings=tuple(Posting(account, Money(micro)) for account, micro in postings), **fields)


def _moved(entry: Entry, micro: int) -> Entry:
    """The capture with another amount, still balanced."""
    return _with(entry, (held(UID), -micro), (charged(UID), micro))


def _swapped(entries: Iterable[Entry], old: Entry, *new: Entry) -> list[Entry]:
    return [one for entry in entries for one in (new if entry is old else (entry,))]


_AMOUNT = CAPTURE.moved(charged(UID)).micro
_TWICE = replace(CAPTURE, id=f"{UID}/capture/again")
_ENTRIES: dict[str, tuple[Callable[[], list[Entry]], set[Fault]]] = {
    "a capture one micro-dollar lower": (
        lambda: _swapped(PAST.entries, CAPTURE, _moved(CAPTURE, _AMOUNT - 1)),
        {Fault.CHARGE, Fault.STILL_HELD},
    ),
    "a capture moved to the available balance": (
        lambda: _swapped(PAST.entries, CAPTURE, _with(CAPTURE, (held(UID), -_AMOUNT), (AVAILABLE, _AMOUNT))),
        {Fault.CHARGE},
    ),
    "a capture posted twice": (lambda: [*PAST.entries, _TWICE], {Fault.CHARGE, Fault.STILL_HELD}),
    "a capture taken away": (lambda: _swapped(PAST.entries, CAPTURE), {Fault.CHARGE, Fault.STILL_HELD}),
    "a release taken away": (lambda: list(PAST.entries[:-1]), {Fault.STILL_HELD}),
    "a correction that points at nothing": (
        lambda: [*PAST.entries, build.correction("c", LATER, PAST.subject, ZERO, corrects="no such entry")],
        {Fault.CORRECTS_NOTHING},
    ),
    "a correction nobody can explain": (
        lambda: [*PAST.entries, build.correction("c", LATER, PAST.subject, Money(-1), corrects=CAPTURE.id)],
        {Fault.CHARGE},
    ),
    "a correction of itself": (
        lambda: [*PAST.entries, build.correction("c", LATER, PAST.subject, ZERO, corrects="c")],
        {Fault.CORRECTS_NOTHING},
    ),
    "a hold that charges": (
        lambda: _swapped(PAST.entries, CAPTURE, replace(CAPTURE, kind=EntryKind.HOLD)),
        {Fault.MISPLACED},
    ),
    "another Attempt's account": (
        lambda: _swapped(PAST.entries, CAPTURE, _with(CAPTURE, (held(UID), -_AMOUNT), (charged("other"), _AMOUNT))),
        {Fault.MISPLACED, Fault.CHARGE, Fault.POSTINGS},
    ),
    "another object's entry": (
        lambda: [replace(entry, object_uid="uid-of-another") for entry in PAST.entries],
        {Fault.MISPLACED},
    ),
    "entries of an Attempt nobody knows": (
        lambda: [
            *PAST.entries,
            build.hold("h", LATER, build.Subject(object_address="workspace/x", object_uid="u", attempt_uid="ghost"), ZERO),
        ],
        {Fault.NO_ATTEMPT},
    ),
}


@pytest.mark.parametrize("what", _ENTRIES)
def test_a_tampered_ledger_is_found(what: str) -> None:
    entries, expected = _ENTRIES[what]
    found = verified(books_of(session(6), PAST, entries=[*session(6).entries, *entries()])).findings
    assert {one.fault for one in found} == expected
    assert {one.attempt_uid for one in found} <= {UID, "ghost", ""}, "the Attempt beside it is right"


def _billed_later(past: Past) -> Past:
    launched = next(event for event in past.events if isinstance(event, facts.LaunchAccepted))
    later = replace(launched.machine, billing_started_at=launched.time + timedelta(hours=2))
    return changed(changed(past, facts.LaunchAccepted, machine=later), facts.MachineSeen, machine=later)


_EVENTS: dict[str, tuple[Past, set[Fault]]] = {
    "a later end": (changed(PAST, facts.CapacityEnded, ended_at=LATER), {Fault.CHARGE}),
    "no end at all": (
        replace(PAST, events=tuple(e for e in PAST.events if not isinstance(e, facts.CapacityEnded))),
        {Fault.NO_END, Fault.CHARGE},
    ),
    "a later start of billing": (_billed_later(PAST), {Fault.CHARGE}),
    "a lower rate": (changed(PAST, facts.TermsFrozen, terms=terms_of(5, rate_usd_per_hour=Money(1))), {Fault.CHARGE}),
    "a finer increment": (changed(PAST, facts.TermsFrozen, terms=terms_of(5, increment_seconds=1)), {Fault.CHARGE}),
    "a rate above its ceiling": (
        changed(PAST, facts.TermsFrozen, terms=terms_of(5, ceiling_usd_per_hour=Money(1))),
        {Fault.CEILING},
    ),
    "a price of zero": (
        changed(PAST, facts.TermsFrozen, terms=terms_of(5, rate_usd_per_hour=ZERO)),
        {Fault.RATE, Fault.CHARGE},
    ),
    "an origin that is none": (changed(PAST, facts.TermsFrozen, terms=terms_of(5, price_origin="guessed")), {Fault.RATE}),
}


@pytest.mark.parametrize("what", _EVENTS)
def test_a_tampered_journal_is_found(what: str) -> None:
    past, expected = _EVENTS[what]
    assert set(faults(books_of(past))) == expected


@pytest.mark.parametrize(
    "change",
    [
        lambda one: replace(one, timings=replace(one.timings, finished_at=LATER)),
        lambda one: replace(one, timings=replace(one.timings, ready_at=None)),
        lambda one: replace(one, terms=terms_of(6)),
        lambda one: replace(one, machine=None),
        lambda one: replace(one, name="another-1"),
    ],
    ids=["end", "ready", "terms", "machine", "name"],
)
def test_a_stored_attempt_that_differs_from_its_events_is_found(change: Callable[[Any], Any]) -> None:
    """Receipts are printed from the stored Attempt, so it has to say what the journal says."""
    books = books_of(PAST)
    stored = {uid: change(one) for uid, one in books.book.attempts.items()}
    assert set(faults(MemoryBooks(replace(books.book, attempts=stored)))) == {Fault.RECEIPT}


def test_an_attempt_stored_without_events_or_not_stored_at_all_is_found() -> None:
    books = books_of(PAST, session(6))
    only = {uid: one for uid, one in books.book.attempts.items() if uid == UID}
    assert set(faults(MemoryBooks(replace(books.book, attempts=only)))) == {Fault.RECEIPT}
    without = replace(books_of(PAST).book, attempts=books.book.attempts)
    assert faults(MemoryBooks(without)) == [Fault.RECEIPT]


def test_a_check_of_one_object_speaks_of_that_object_alone() -> None:
    wrong, right = session(5), session(6)
    books = books_of(wrong, right, entries=[*wrong.entries[:-1], *right.entries])
    origins = RateOrigins(lambda: EMPTY_BOOK, {})
    of_right = verify_receipts(books, origins=origins, now=LATER, wanted=lambda trail: trail.uid == right.uid)
    of_wrong = verify_receipts(books, origins=origins, now=LATER, wanted=lambda trail: trail.uid == wrong.uid)
    assert (of_right.receipts, of_right.findings) == (1, ())
    assert [one.fault for one in of_wrong.findings] == [Fault.STILL_HELD]
    assert of_wrong.findings[0].attempt == "ws-005-1"
