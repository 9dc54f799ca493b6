"""Estimate against actual, per object: is the p90 honest? Nine of ten sessions have to come out at or under it.

What was predicted is derived from the terms and the edge each launch froze. What came is the ledger's charge and the journal's times. Two
predictions are judged apart: what a session costs, and how long a start takes.

The surprise: a session whose edge was moved (renewed, extended) isn't compared for cost. Its launch had predicted another session.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money
from nodusctl.engine.sessions import first_of
from nodusctl.engine.sound_books import sound
from nodusctl.engine.spending import ALWAYS, Period
from nodusctl.engine.trails import Trail, walk_trails
from nodusctl.ledger.entries import charged
from nodusctl.ports.books import Books
from nodusctl.pricing.bands import ENOUGH_HISTORY, DurationBand, band_of
from nodusctl.pricing.predicted import predicted_cost, predicted_start
from nodusctl.state.snapshot import Snapshot

HONEST_PERCENT = 90
_READ_BACK = timedelta(seconds=30)
"""An edge read back differs from the one asked for by the time the answer took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many of ``count`` came out at or under their p90."""

    within: int
    count: int

    @property
    def verdict(self) -> str:
        """``honest``, ``too low``, or that there are too few to say."""
        if self.count == 0:
            return "nothing to compare"
        if self.count < ENOUGH_HISTORY:
            return "too few to say"
        return "honest" if self.within * 100 >= HONEST_PERCENT * self.count else "too low"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One object's finished sessions. Amounts are sums over the sessions compared; ``start`` is the newest prediction of a start.

    ``left_out`` counts sessions whose edge was moved; ``actual_start`` is the band of the starts that came, None without any.
    """

    name: str
    cost: Share
    p50_usd: Money
    p90_usd: Money
    actual_usd: Money
    left_out: int
    starts: Share
    start: DurationBand | None
    actual_start: DurationBand | None


@dataclass(slots=True)
class _Sums:
    within: int = 0
    count: int = 0
    left_out: int = 0
    p50: Money = ZERO
    p90: Money = ZERO
    actual: Money = ZERO
    starts_within: int = 0
    start: DurationBand | None = None
    starts: list[timedelta] = field(default_factory=list)


def compare_estimates(books: Books, snapshot: Snapshot, *, only: Address | None = None, period: Period = ALWAYS) -> tuple[Comparison, ...]:
    """One Comparison an object, by name; ``period`` takes sessions that ended in it."""
    cost_of = _charges(books)
    present = {one.record.uid: str(one.record.address) for one in snapshot}
    found: defaultdict[str, _Sums] = defaultdict(_Sums)
    for session in _sessions(sound(walk_trails(books))):
        ended = session[-1].ended
        name = present.get(session[0].owner_uid, str(session[0].owner))
        is_of = only is None or str(only) == name or session[0].owner == only
        if is_of and ended is not None and ended in period and all(one.is_closed for one in session):
            _add(found[name], session, sum(cost_of.get(one.uid, 0) for one in session))
    return tuple(_comparison(name, sums) for name, sums in sorted(found.items()))


def _charges(books: Books) -> Mapping[str, int]:
    sums: defaultdict[str, int] = defaultdict(int)
    for entry in sound(books.entries()):
        if entry.attempt_uid:
            sums[entry.attempt_uid] += entry.moved(charged(entry.attempt_uid)).micro
    return sums


def _sessions(trails: Iterable[Trail]) -> list[list[Trail]]:
    """Trails with a machine by session, each in the order of their launches."""
    all_of_them = list(trails)
    replaced = {one.uid: one.replaces for one in all_of_them if one.replaces}
    found: defaultdict[str, list[Trail]] = defaultdict(list)
    for trail in all_of_them:
        if trail.has_machine and trail.launch_at is not None:
            found[first_of(trail.uid, replaced)].append(trail)
    return [sorted(session, key=_launched) for session in found.values()]


def _launched(trail: Trail) -> datetime:
    assert trail.launch_at is not None, "only trails with a launch come here"
    return trail.launch_at


def _add(sums: _Sums, session: list[Trail], actual_micro: int) -> None:
    first = session[0]
    if any(_was_moved(one) for one in session):
        sums.left_out += 1
    elif first.terms is not None and first.first_edge is not None and first.launch_at is not None:
        band, actual = predicted_cost(first.terms, first.first_edge - first.launch_at), Money(actual_micro)
        sums.count += 1
        sums.within += actual <= band.p90
        sums.p50, sums.p90, sums.actual = sums.p50 + band.p50, sums.p90 + band.p90, sums.actual + actual
    for one in session:
        if one.terms is not None and one.ready is not None and one.accepted_at is not None:
            sums.start = predicted_start(one.terms)
            sums.starts.append(one.ready - one.accepted_at)
            sums.starts_within += sums.starts[-1] <= sums.start.p90


def _was_moved(trail: Trail) -> bool:
    return trail.edge is not None and trail.first_edge is not None and abs(trail.edge - trail.first_edge) > _READ_BACK


def _comparison(name: str, sums: _Sums) -> Comparison:
    return Comparison(
        name=name,
        cost=Share(within=sums.within, count=sums.count),
        p50_usd=sums.p50,
        p90_usd=sums.p90,
        actual_usd=sums.actual,
        left_out=sums.left_out,
        starts=Share(within=sums.starts_within, count=len(sums.starts)),
        start=sums.start,
        actual_start=band_of(sums.starts) if sums.starts else None,
    )
