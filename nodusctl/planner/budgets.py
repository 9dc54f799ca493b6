"""What each Block Budget has left, from the ledger of this state, as the plan sees it: with specs and labels as they are about to be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money
from nodusctl.ledger.budgets import BudgetRule, budget_rules
from nodusctl.ledger.room import Tally, used_under
from nodusctl.ledger.storage import Stretches


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetStanding:
    """One Block Budget now. ``remaining`` is never below zero."""

    rule: BudgetRule
    used: Money

    @property
    def address(self) -> Address:
        """Which Budget."""
        return self.rule.address

    @property
    def limit(self) -> Money:
        """``spec.limitUSD``."""
        return self.rule.limit

    @property
    def remaining(self) -> Money:
        """The limit less charges of the period, storage of it that accrues, and open holds."""
        return max(self.limit - self.used, ZERO)

    def covers(self, project: str, labels: Mapping[str, str]) -> bool:
        """True if an object of ``project`` with ``labels`` counts for it."""
        return self.rule.covers(project, labels)


def block_budgets(
    specs: Mapping[Address, Mapping[str, Any]],
    tally: Tally,
    labels_of: Mapping[str, Mapping[str, str]],
    project: str,
    now: datetime,
    *,
    storage: Stretches,
) -> tuple[BudgetStanding, ...]:
    """The Budgets with action Block. ``labels_of`` maps an object's uid to its labels; ``storage`` is what accrues for disks."""
    rules: Iterable[BudgetRule] = budget_rules(specs.items())
    return tuple(
        BudgetStanding(rule=one, used=used_under(one.guard(project, labels_of, now, storage), tally)) for one in rules if one.blocks
    )
