"""Tick: one pass over everything that is due now. Run from cron; safe at any time, twice at once, from two computers.

It waits for no boot and no deletion: each object is carried on until it would have to wait, and the next pass goes on from what is
stored. Order: settle and observe, close what ended, stop, renew; then, in a second round, starts. A start that hangs delays no stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.engine.duplicates import is_time, release_spares
from nodusctl.engine.notifying import Deliver, News, PassSeen, tell
from nodusctl.engine.pass_times import PassTimes
from nodusctl.engine.passed_over import passed_over
from nodusctl.engine.repricing import RateOf
from nodusctl.engine.thresholds import note_thresholds
from nodusctl.engine.watching import look_at_all
from nodusctl.executor.drive import drive
from nodusctl.executor.outside import Outside
from nodusctl.executor.runs import Interrupts, Limits, ObjectOutcome
from nodusctl.lifecycle.passing import ALIVE, Turn, turn_of
from nodusctl.ports.passes import Passes, PassNote
from nodusctl.state.snapshot import Snapshot, Standing

CALL_LIMIT = timedelta(seconds=60)
_TROUBLE = frozenset({"ProviderNotReady", "IntentUnsettled", "Unauthorized", "Forbidden", "ProviderIdentityChanged"})
"""Codes that make a pass a bad one; an object that fails for its own reasons doesn't."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One object that this pass moved on, or could not."""

    address: Address
    before: str
    after: str
    code: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TickResult:
    """What came of a pass. ``failures`` are by provider instance or object; ``looked_at`` counts objects that could have been due.

    ``unsent`` are notices that the project's command didn't take.
    """

    started_at: datetime
    ended_at: datetime
    looked_at: int
    moved: tuple[Moved, ...] = ()
    failures: Mapping[str, str] | None = None
    unsent: tuple[str, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """1 where something went wrong that the next pass has to make good."""
        return ExitCode.ERROR if self.failures else ExitCode.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticker:
    """What a pass needs besides the executor's ports. ``rates`` makes a fresh price question, because prices are asked once a pass.

    ``notify`` takes each notice once; None where the project wants none.
    """

    passes: Passes
    rates: Callable[[], RateOf]
    host: str
    parallelism: int = 10
    notify: Deliver | None = None


def tick(outside: Outside, ticker: Ticker, interrupts: Interrupts) -> TickResult:
    """One pass. Never raises for what a provider does; what it says is in the result."""
    started_at = outside.clock.now()
    snapshot = outside.journal.snapshot()
    due = _due(snapshot, started_at, outside.rules.window_lead)
    outside = replace(
        outside, rate_of=ticker.rates(), call_limit=min(outside.call_limit, CALL_LIMIT), last_pass_of=PassTimes(ticker.passes)
    )
    alive = [one.record.uid for one in due[Turn.GOES_ON] if one.status.phase in ALIVE]
    seen = look_at_all(outside.providers, outside.journal.load_many(alive).values(), outside.call_limit)
    outside = replace(outside, first_look=seen.first_look)
    addresses = {standing.record.address: standing.record.uid for standing in snapshot}
    outcomes: list[ObjectOutcome] = []
    for turn in Turn:
        if due[turn] and not interrupts.is_soft:
            outcomes += _round(outside, due[turn], addresses, ticker.parallelism, interrupts)
    spares = _spares(outside, snapshot, ticker.passes.latest(1), started_at)
    note_thresholds(outside)
    failures = {**seen.failures, **{str(one.address): f"{one.code} {one.message}".strip() for one in outcomes if one.code in _TROUBLE}}
    news = _tell(outside, ticker, PassSeen(before=snapshot, outcomes=outcomes, failures=seen.failures, host=ticker.host))
    result = TickResult(
        started_at=started_at,
        ended_at=outside.clock.now(),
        looked_at=sum(map(len, due.values())),
        moved=(*_moved(snapshot, outcomes), *_skipped(outside, snapshot, outcomes), *spares),
        failures=failures,
        unsent=news.unsent,
    )
    if snapshot.lineage:
        ticker.passes.note(replace(_note(outside, ticker, result, seen.told), told=news.told))
    return result


def _tell(outside: Outside, ticker: Ticker, seen: PassSeen) -> News:
    if ticker.notify is None or not seen.before.lineage:
        return News()
    return tell(ticker.notify, outside, seen, ticker.passes.latest())


def _spares(outside: Outside, before: Snapshot, latest: Sequence[PassNote], now: datetime) -> tuple[Moved, ...]:
    """Second machines of one Attempt: looked for once in a while, and whenever a start had to be settled."""
    ours = [one for one in before if one.record.address.kind == "workspace"]
    alive = [one.record.uid for one in ours if one.status.phase in ALIVE or one.has_open_intent]
    if not alive:
        return ()
    settled = any(one.has_open_intent for one in ours)
    lists = settled or is_time(latest[0].started_at if latest else None, now)
    found = release_spares(outside, outside.journal.load_many(alive), lists=lists)
    phases = {one.record.address: str(one.status.phase) for one in outside.journal.snapshot()} if found else {}
    return tuple(
        Moved(address=one.address, before=phases[one.address], after=phases[one.address], code="Duplicate", message=one.message)
        for one in found
    )


def _due(snapshot: Snapshot, now: datetime, lead: timedelta) -> dict[Turn, list[Standing]]:
    found: dict[Turn, list[Standing]] = {turn: [] for turn in Turn}
    for standing in snapshot:
        turn = turn_of(standing, now, lead)
        if turn is not None:
            found[turn].append(standing)
    return found


def _round(
    outside: Outside, due: Sequence[Standing], addresses: Mapping[Address, str], parallelism: int, interrupts: Interrupts
) -> tuple[ObjectOutcome, ...]:
    objects = [(one.record.uid, one.record.address) for one in due]
    return drive(outside, objects, addresses, Limits(parallelism=parallelism, waits=False), interrupts)


def _skipped(outside: Outside, before: Snapshot, outcomes: Sequence[ObjectOutcome]) -> Iterator[Moved]:
    for one in passed_over(outside.journal, before, (outcome.address for outcome in outcomes)):
        yield Moved(address=one.address, before=one.phase, after=one.phase, code=one.reason, message=one.message)


def _moved(snapshot: Snapshot, outcomes: Sequence[ObjectOutcome]) -> tuple[Moved, ...]:
    found = []
    for one in outcomes:
        standing = snapshot.get(one.address)
        before = str(standing.status.phase) if standing is not None else ""
        if before != one.phase or (one.code and not one.is_ok):
            found.append(Moved(address=one.address, before=before, after=one.phase, code=one.code, message=one.message))
    return tuple(found)


def _note(outside: Outside, ticker: Ticker, result: TickResult, told: Sequence[str]) -> PassNote:
    failures = tuple(f"{name}: {why}" for name, why in sorted((result.failures or {}).items()))
    return PassNote(
        id=outside.ids.new_uid(),
        started_at=result.started_at,
        ended_at=result.ended_at,
        host=ticker.host,
        seen=tuple(told),
        failures=failures,
    )
