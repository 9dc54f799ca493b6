"""What each Block Budget has left, from the ledger of this state.

A Budget binds what its own state records. Charges of removed objects still count; where the object's labels are gone with it, they count
for Budgets without a selector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money
from nodusctl.ledger.balances import balances, month_of, spent
from nodusctl.ledger.entries import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetStanding:
    """One Block Budget now. ``remaining`` is never below zero."""

    address: Address
    limit: Money
    used: Money
    scope: Mapping[str, Any]

    @property
    def remaining(self) -> Money:
        """The limit less charges of the period and open holds."""
        return max(self.limit - self.used, ZERO)

    def covers(self, project: str, labels: Mapping[str, str]) -> bool:
        """True if an object of ``project`` with ``labels`` counts for it."""
        wanted = self.scope.get("project")
        return (not wanted or wanted == project) and selects(self.scope.get("selector") or {}, labels)


def block_budgets(
    specs: Mapping[Address, Mapping[str, Any]],
    entries: Iterable[Entry],
    labels_of: Mapping[str, Mapping[str, str]],
    project: str,
    now: datetime,
) -> tuple[BudgetStanding, ...]:
    """The Budgets with action Block. ``labels_of`` maps an object's uid to its labels."""
    blocking = {a: s for a, s in specs.items() if a.kind == "budget" and s.get("action", "Block") == "Block"}
    if not blocking:
        return ()
    kept = tuple(entries)
    held_now = balances(kept)
    found = []
    for address, spec in sorted(blocking.items()):
        scope = spec.get("scope") or {}
        one = BudgetStanding(address=address, limit=Money.parse(spec["limitUSD"]), used=ZERO, scope=scope)
        uids = {uid for uid, labels in labels_of.items() if one.covers(project, labels)} if scope.get("selector") else None
        since = month_of(now)[0] if spec.get("period", "Monthly") == "Monthly" else None
        held = held_now.whole.held if uids is None else held_now.among(uids).held
        found.append(replace(one, used=spent(kept, uids, since) + held))
    return tuple(found)


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
