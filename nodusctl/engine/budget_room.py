"""What the executor asks of Budgets and of the granted balance: what they have left for an object, and the limits its holds must fit.

Budgets and labels change with a plan only, so they are read again when somebody else has written to the state; the sums behind them are
asked of the journal each time, which keeps them. What accrues for disks, of which there may be as many as there are steps, is reckoned
again once a minute, and in a new month at once. A charge for a disk that a step of ours posts meanwhile counts twice until then: that
leaves less, never more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from nodusctl.base.money import ZERO, Money
from nodusctl.engine.storage_so_far import stretches_in
from nodusctl.ledger.balances import month_of
from nodusctl.ledger.budgets import BudgetRule, budget_rules
from nodusctl.ledger.room import CREDITS, HoldGuard
from nodusctl.ports.journal import Journal
from nodusctl.state.records import Record

COUNTED = ("workspace", "function", "volume")
"""Kinds that cost something."""
_RECKONED_FOR = timedelta(minutes=1)


class BudgetRoom:
    """The limits of one state. ``now`` is the domain's time: it says which month it is."""

    def __init__(self, journal: Journal, project: str, now: Callable[[], datetime]) -> None:
        self._journal, self._project, self._now = journal, project, now
        self._version: int | None = None
        self._rules: tuple[BudgetRule, ...] = ()
        self._labels: Mapping[str, Mapping[str, str]] = {}
        self._guards: tuple[tuple[BudgetRule, HoldGuard], ...] = ()
        self._good: tuple[datetime, datetime] | None = None

    def left_for(self, record: Record) -> tuple[Money | None, Money | None]:
        """The least any Block Budget in scope has left, None where none binds; and what is left of all grants, None before the first.

        Neither is ever below zero.
        """
        *budgets, funds = self._journal.room(self.guards_for(record))
        least = min((max(one, ZERO) for one in budgets if one is not None), default=None)
        return least, max(funds, ZERO) if funds is not None else None

    def guards_for(self, record: Record) -> tuple[HoldGuard, ...]:
        """Every limit a hold for this object must fit in the transaction that posts it."""
        return (*self._budgets_over(record), CREDITS)

    def _budgets_over(self, record: Record) -> tuple[HoldGuard, ...]:
        self._read()
        if not self._rules:
            return ()
        now = self._now()
        begins, ends = self._good or (now, now)
        if not begins <= now < ends:
            storage = stretches_in(self._journal)
            self._guards = tuple((one, one.guard(self._project, self._labels, now, storage)) for one in self._rules)
            self._good = now, min(now + _RECKONED_FOR, month_of(now)[1])
        return tuple(guard for rule, guard in self._guards if rule.covers(self._project, record.labels))

    def _read(self) -> None:
        version = self._journal.version()
        if version == self._version:
            return
        self._version, self._good = version, None
        budgets = self._journal.records("budget")
        self._rules = tuple(one for one in budget_rules((record.address, record.spec) for record in budgets) if one.blocks)
        has_selector = any(one.selector for one in self._rules)
        counted = (record for kind in COUNTED for record in self._journal.records(kind)) if has_selector else ()
        self._labels = {record.uid: record.labels for record in counted}
