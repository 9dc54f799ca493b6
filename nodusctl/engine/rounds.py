"""The working part of a pass: look at what is alive, then carry on what is due in two rounds, then say what came of it.

It waits for no boot and no deletion: each object is carried on until it would have to wait, and the next pass goes on from what is
stored. Order: settle and observe, close what ended, stop, renew; then, in a second round, starts. A start that hangs delays no stop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import timedelta

from nodusctl.base.ids import Address
from nodusctl.engine.duplicates import has_spare, is_time, release_spares
from nodusctl.engine.notifying import News, PassSeen, tell
from nodusctl.engine.pass_times import PassTimes
from nodusctl.engine.passed_over import passed_over
from nodusctl.engine.passes import Due, Moved, Ticker, Waiting, Worked
from nodusctl.engine.thresholds import note_thresholds
from nodusctl.engine.watching import look_at_all
from nodusctl.executor.drive import drive
from nodusctl.executor.outside import Outside
from nodusctl.executor.runs import Interrupts, Limits, ObjectOutcome
from nodusctl.lifecycle.passing import Brief, Turn
from nodusctl.ports.journal import StoredObject
from nodusctl.ports.keys import KEY_TROUBLES

CALL_LIMIT = timedelta(seconds=60)
_TROUBLE = frozenset({"ProviderNotReady", "IntentUnsettled", "Unauthorized", "Forbidden", "ProviderIdentityChanged", *KEY_TROUBLES})
"""Codes that make a pass a bad one; an object that fails for its own reasons doesn't."""


def make_rounds(outside: Outside, ticker: Ticker, due: Due, interrupts: Interrupts) -> Worked:
    """Everything that is due. Never raises for what a provider does."""
    outside = replace(
        outside, rate_of=ticker.rates(), call_limit=min(outside.call_limit, CALL_LIMIT), last_pass_of=PassTimes(ticker.passes)
    )
    before = outside.journal.load_many(brief.uid for turn in Turn for brief in due.turns[turn])
    alive = [before[brief.uid] for brief in due.turns[Turn.GOES_ON] if brief.is_alive and brief.uid in before]
    seen = look_at_all(outside.providers, alive, outside.call_limit)
    outside = replace(outside, first_look=seen.first_look)
    addresses = {brief.address: brief.uid for brief in due.glance.briefs}
    outcomes: list[ObjectOutcome] = []
    for turn in Turn:
        if due.turns[turn] and not interrupts.is_soft:
            outcomes += _round(outside, due.turns[turn], addresses, ticker.parallelism, interrupts)
    spares = _spares(outside, ticker, due, before)
    note_thresholds(outside)
    failures = {**seen.failures, **{str(one.address): f"{one.code} {one.message}".strip() for one in outcomes if one.code in _TROUBLE}}
    was = {stored.record.address: stored for stored in before.values()}
    news = _tell(outside, ticker, PassSeen(before=was, outcomes=outcomes, failures=seen.failures, host=ticker.host))
    moved = (*_moved(was, outcomes), *_skipped(outside, was, outcomes), *spares)
    return Worked(
        moved=moved,
        waiting=tuple(_waiting(outcomes, {one.address for one in moved})),
        failures=failures,
        seen=seen.told,
        told=news.told,
        unsent=news.unsent,
    )


def _tell(outside: Outside, ticker: Ticker, seen: PassSeen) -> News:
    return tell(ticker.notify, outside, seen, ticker.passes.latest()) if ticker.notify is not None else News()


def _spares(outside: Outside, ticker: Ticker, due: Due, before: Mapping[str, StoredObject]) -> tuple[Moved, ...]:
    """Second machines of one Attempt: looked for once in a while, and whenever a start had to be settled."""
    ours = [one for one in due.turns[Turn.GOES_ON] if one.address.kind == "workspace" and (one.is_alive or one.has_open_intent)]
    latest = ticker.passes.latest(1) if ours else ()
    lists = any(one.has_open_intent for one in ours) or is_time(latest[0].started_at if latest else None, due.now)
    wanted = [one.uid for one in ours if lists or (one.uid in before and has_spare(before[one.uid]))]
    if not wanted:
        return ()
    found = release_spares(outside, outside.journal.load_many(wanted), lists=lists)
    phases = {one.record.address: str(one.status.phase) for one in outside.journal.load_many(wanted).values()} if found else {}
    return tuple(
        Moved(address=one.address, before=phases[one.address], after=phases[one.address], code="Duplicate", message=one.message)
        for one in found
    )


def _round(
    outside: Outside, due: Sequence[Brief], addresses: Mapping[Address, str], parallelism: int, interrupts: Interrupts
) -> tuple[ObjectOutcome, ...]:
    objects = [(one.uid, one.address) for one in due]
    return drive(outside, objects, addresses, Limits(parallelism=parallelism, waits=False), interrupts)


def _skipped(outside: Outside, before: Mapping[Address, StoredObject], outcomes: Sequence[ObjectOutcome]) -> Iterator[Moved]:
    for one in passed_over(outside.journal, before, (outcome.address for outcome in outcomes)):
        yield Moved(address=one.address, before=one.phase, after=one.phase, code=one.reason, message=one.message)


def _waiting(outcomes: Sequence[ObjectOutcome], moved: Set[Address]) -> Iterator[Waiting]:
    """What is open and didn't move: nothing is due there now, and it isn't at rest either."""
    for one in outcomes:
        if one.waits_for and one.address not in moved:
            yield Waiting(address=one.address, phase=one.phase, waits_for=one.waits_for)


def _moved(before: Mapping[Address, StoredObject], outcomes: Sequence[ObjectOutcome]) -> Iterator[Moved]:
    for one in outcomes:
        stored = before.get(one.address)
        was = str(stored.status.phase) if stored is not None else ""
        if was != one.phase or (one.code and not one.is_ok):
            yield Moved(address=one.address, before=was, after=one.phase, code=one.code, message=one.message)
