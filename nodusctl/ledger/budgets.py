"""What a Budget binds: which objects count for it, and from when. Shared by plans, by the executor's check before a hold, and by status.

A Budget binds what its own state records. Charges of removed objects still count; where the object's labels are gone with it, they count
for Budgets without a selector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.ledger.balances import month_of
from nodusctl.ledger.room import HoldGuard
from nodusctl.ledger.storage import Stretches, accrued_among

DEFAULT_THRESHOLDS = (50, 80, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRule:
    """One Budget as its spec has it."""

    address: Address
    limit: Money
    is_monthly: bool = True
    blocks: bool = True
    project: str = ""
    selector: Mapping[str, Any] | None = None
    thresholds: tuple[int, ...] = DEFAULT_THRESHOLDS

    def covers(self, project: str, labels: Mapping[str, str]) -> bool:
        """True if an object of ``project`` with ``labels`` counts for it."""
        return (not self.project or self.project == project) and selects(self.selector or {}, labels)

    def guard(self, project: str, labels_of: Mapping[str, Mapping[str, str]], now: datetime, storage: Stretches) -> HoldGuard:
        """The limit as it binds now. ``labels_of`` maps the uids of present objects to their labels; only a selector needs it.

        ``storage`` is what accrues for the disks of the state.
        """
        objects: frozenset[str] | None = None
        if self.project and self.project != project:
            objects = frozenset()
        elif self.selector:
            objects = frozenset(uid for uid, labels in labels_of.items() if self.covers(project, labels))
        since = month_of(now)[0] if self.is_monthly else None
        accrued = accrued_among(storage, objects, now, since)
        return HoldGuard(name=str(self.address), limit=self.limit, objects=objects, since=since, accrued=accrued)


def budget_rule(address: Address, spec: Mapping[str, Any]) -> BudgetRule:
    """A Budget's canonical spec, read."""
    scope = spec.get("scope") or {}
    return BudgetRule(
        address=address,
        limit=Money.parse(str(spec["limitUSD"])),
        is_monthly=spec.get("period", "Monthly") == "Monthly",
        blocks=spec.get("action", "Block") == "Block",
        project=str(scope.get("project") or ""),
        selector=scope.get("selector"),
        thresholds=tuple(sorted(spec.get("thresholds", DEFAULT_THRESHOLDS))),
    )


def budget_rules(specs: Iterable[tuple[Address, Mapping[str, Any]]]) -> tuple[BudgetRule, ...]:
    """The Budgets among some objects, by address."""
    return tuple(budget_rule(address, spec) for address, spec in sorted(specs, key=lambda one: one[0]) if address.kind == "budget")


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """metav1.LabelSelector: every matchLabels pair and every expression holds."""
    pairs = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in pairs.items()):
        return False
    return all(_holds(one, labels) for one in selector.get("matchExpressions") or ())


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression["key"]), tuple(expression.get("values") or ())
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    raise ValueError(f"a label selector has no operator {expression['operator']!r}")
