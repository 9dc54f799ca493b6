"""Writing down that a Budget has come to one of its thresholds: once a period and threshold, with action Block and Notify alike.

Asked after every apply and pass. The journal of the Budget itself says what was written before, so two passes at once write it once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from nodusctl.attempts.events import ThresholdCrossed
from nodusctl.base.ids import Address
from nodusctl.engine.budget_room import COUNTED
from nodusctl.engine.storage_so_far import stretches_in
from nodusctl.executor.outside import Outside
from nodusctl.ledger.budgets import BudgetRule, budget_rule
from nodusctl.ledger.room import HoldGuard, Tally, month_key, used_under
from nodusctl.ports.journal import Closing, Journal, StaleClaim
from nodusctl.state.records import Record

_CLAIM_LIMIT = timedelta(seconds=10)


def note_thresholds(outside: Outside) -> tuple[ThresholdCrossed, ...]:
    """Write down what was crossed since this was asked last; returns what was new."""
    budgets = outside.journal.records("budget")
    if not budgets:
        return ()
    now, tally, labels = outside.clock.now(), outside.journal.tally(), _labels(outside.journal, budgets)
    storage = stretches_in(outside.journal)
    found: list[ThresholdCrossed] = []
    for budget in budgets:
        reached = tuple(_reached(budget, tally, budget_rule(budget.address, budget.spec).guard(outside.project, labels, now, storage), now))
        found += _written(outside, budget, reached) if reached else ()
    return tuple(found)


def thresholds_crossed(journal: Journal, now: datetime) -> dict[Address, tuple[ThresholdCrossed, ...]]:
    """What was written down for the period that runs at ``now``, of each Budget that came to any of its thresholds."""
    found: dict[Address, tuple[ThresholdCrossed, ...]] = {}
    for budget in journal.records("budget"):
        period = _period(budget_rule(budget.address, budget.spec), now)
        events = (row.event for row in journal.events(budget.uid))
        crossed = tuple(one for one in events if isinstance(one, ThresholdCrossed) and one.period == period)
        found |= {budget.address: crossed} if crossed else {}
    return found


def _labels(journal: Journal, budgets: tuple[Record, ...]) -> Mapping[str, Mapping[str, str]]:
    if not any(budget_rule(one.address, one.spec).selector for one in budgets):
        return {}
    return {one.uid: one.labels for kind in COUNTED for one in journal.records(kind)}


def _reached(budget: Record, tally: Tally, guard: HoldGuard, now: datetime) -> Iterator[ThresholdCrossed]:
    rule, used = budget_rule(budget.address, budget.spec), used_under(guard, tally)
    for percent in rule.thresholds:
        if used.micro * 100 >= percent * rule.limit.micro:
            yield ThresholdCrossed(
                time=now,
                object_uid=budget.uid,
                percent=percent,
                period=_period(rule, now),
                used_usd=used,
                limit_usd=rule.limit,
            )


def _period(rule: BudgetRule, now: datetime) -> str:
    return month_key(now) if rule.is_monthly else "total"


def _written(outside: Outside, budget: Record, reached: tuple[ThresholdCrossed, ...]) -> tuple[ThresholdCrossed, ...]:
    """What of it is new, committed. Where somebody else is writing the same, it is left to them."""
    if not _unsaid(outside.journal, reached):
        return ()
    claim = outside.claims.claim(budget.uid, "thresholds", _CLAIM_LIMIT)
    if claim is None:
        return ()
    try:
        new = _unsaid(outside.journal, reached)
        if new:
            outside.journal.close(Closing(claim=claim, events=new))
    except StaleClaim:
        return ()
    finally:
        outside.claims.drop(claim)
    return new


def _unsaid(journal: Journal, reached: tuple[ThresholdCrossed, ...]) -> tuple[ThresholdCrossed, ...]:
    rows = journal.events(reached[0].object_uid)
    said = {(one.event.period, one.event.percent) for one in rows if isinstance(one.event, ThresholdCrossed)}
    return tuple(one for one in reached if (one.period, one.percent) not in said)
