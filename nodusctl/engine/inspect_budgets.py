"""``status`` of a Budget, from the ledger of this state: spent, held, left, and whether it is exceeded (objects.md, "Budget").

Computed when asked for, never stored: a stored sum could only be old.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from nodusctl.base.money import ZERO, Money
from nodusctl.base.timestamps import format_time
from nodusctl.ledger.balances import balances, month_of, spent
from nodusctl.ledger.entries import Entry
from nodusctl.planner.budgets import selects
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import ObjectStatus


def budget_status(
    spec: Mapping[str, Any], status: ObjectStatus, snapshot: Snapshot, entries: Iterable[Entry], *, project: str, now: datetime
) -> dict[str, Any]:
    """BudgetStatus as JSON. Charges of removed objects count where the Budget has no selector, as in a plan."""
    kept = tuple(entries)
    scope = spec.get("scope") or {}
    is_monthly = spec.get("period", "Monthly") == "Monthly"
    start, end = month_of(now)
    uids = _covered(scope, snapshot, project)
    held_now = balances(kept)
    used = spent(kept, uids, start if is_monthly else None)
    held = held_now.whole.held if uids is None else held_now.among(uids).held
    limit = Money.parse(str(spec["limitUSD"]))
    is_exceeded = used + held >= limit
    return {
        "spentUSD": str(used),
        "heldUSD": str(held),
        "remainingUSD": str(max(limit - used - held, ZERO)),
        "percentUsed": (used + held).micro * 100 // limit.micro,
        **({"currentPeriod": {"startTime": format_time(start), "endTime": format_time(end)}} if is_monthly else {}),
        "conditions": [
            {
                "type": "Exceeded",
                "status": "True" if is_exceeded else "False",
                "reason": "LimitReached" if is_exceeded else "WithinLimit",
                "message": f"{(used + held).shown} of {limit.shown} spent or held.",
                "observedGeneration": status.observed_generation,
            }
        ],
        "observedGeneration": status.observed_generation,
    }


def _covered(scope: Mapping[str, Any], snapshot: Snapshot, project: str) -> set[str] | None:
    """Uids it binds; None for all of this state, removed objects too."""
    named = scope.get("project")
    if named and named != project:
        return set()
    selector = scope.get("selector")
    return {one.record.uid for one in snapshot if selects(selector, one.record.labels)} if selector else None
