"""Tick: one pass over everything that is due now. Run from cron; safe at any time, twice at once, from two computers.

This is its door: whose turn it is is told from a glance at the state, and a pass that finds nobody's turn writes down that it was there and
leaves. The surprise: the executor, the providers and the database toolkit are loaded only behind it (``rounds``). Nearly every pass over
a project at rest ends here, and they take longer to load than all it does.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from nodusctl.base.uncollected import uncollected
from nodusctl.engine.passes import Due, Ticker, TickResult, Worked
from nodusctl.lifecycle.passing import Brief, Turn, turn_of
from nodusctl.ports.passes import Glance, PassNote

if TYPE_CHECKING:
    from nodusctl.executor.outside import Outside
    from nodusctl.executor.runs import Interrupts

_NOTHING = Worked()


def tick(outside: Callable[[], Outside], ticker: Ticker, interrupts: Interrupts) -> TickResult:
    """One pass. ``outside`` is asked only where something is due. Never raises for what a provider does; what it says is in the result."""
    with uncollected():
        return _passed(outside, ticker, interrupts)


def _passed(outside: Callable[[], Outside], ticker: Ticker, interrupts: Interrupts) -> TickResult:
    now = ticker.clock.now()
    due = _due(ticker.passes.glance(), now, ticker.window_lead)
    worked = _worked(outside, ticker, due, interrupts) if _has_work(ticker, due) else _NOTHING
    result = TickResult(
        started_at=due.now,
        ended_at=ticker.clock.now(),
        looked_at=sum(map(len, due.turns.values())),
        moved=worked.moved,
        waiting=worked.waiting,
        failures=worked.failures,
        unsent=worked.unsent,
    )
    if due.glance.lineage:
        ticker.passes.note(_note(ticker, result, worked))
    return result


def _due(glance: Glance, now: datetime, lead: timedelta) -> Due:
    turns: dict[Turn, list[Brief]] = {turn: [] for turn in Turn}
    for brief in glance.briefs:
        turn = turn_of(brief, now, lead)
        if turn is not None:
            turns[turn].append(brief)
    return Due(now=now, glance=glance, turns=turns)


def _has_work(ticker: Ticker, due: Due) -> bool:
    """True where it is somebody's turn, a Budget may have come to a threshold, or somebody may have to be told of something."""
    has_budget = any(brief.address.kind == "budget" for brief in due.glance.briefs)
    return due.has_turns or has_budget or (ticker.notify is not None and ticker.passes.may_be_news())


def _worked(outside: Callable[[], Outside], ticker: Ticker, due: Due, interrupts: Interrupts) -> Worked:
    from nodusctl.engine.rounds import make_rounds

    return make_rounds(outside(), ticker, due, interrupts)


def _note(ticker: Ticker, result: TickResult, worked: Worked) -> PassNote:
    return PassNote(
        id=ticker.ids.new_uid(),
        started_at=result.started_at,
        ended_at=result.ended_at,
        host=ticker.host,
        seen=worked.seen,
        failures=tuple(f"{name}: {why}" for name, why in sorted(worked.failures.items())),
        told=worked.told,
    )
