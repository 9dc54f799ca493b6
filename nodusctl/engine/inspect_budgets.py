"""``status`` of a Budget, from the ledger of this state: spent, held, storage so far, left, and whether it is exceeded.

Computed when asked for, never stored: a stored sum could only be old.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money
from nodusctl.base.timestamps import format_time
from nodusctl.ledger.balances import month_of
from nodusctl.ledger.budgets import budget_rule
from nodusctl.ledger.room import Tally, used_under
from nodusctl.ledger.storage import stretches_of
from nodusctl.state.records import Record
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import ObjectStatus


def budget_status(record: Record, status: ObjectStatus, snapshot: Snapshot, tally: Tally, *, project: str, now: datetime) -> dict[str, Any]:
    """BudgetStatus as JSON. Charges of removed objects count where the Budget has no selector, as in a plan."""
    rule = budget_rule(record.address, record.spec)
    guard = rule.guard(project, labels_by_uid(snapshot), now, stretches_of(snapshot))
    spent, held = tally.charged(guard.objects, guard.since), tally.held(guard.objects)
    used, (start, end) = used_under(guard, tally), month_of(now)
    is_exceeded = used >= rule.limit
    return {
        "spentUSD": str(spent),
        "heldUSD": str(held),
        **({"storageSoFarUSD": str(guard.accrued)} if guard.accrued else {}),
        "remainingUSD": str(max(rule.limit - used, ZERO)),
        "percentUsed": used.micro * 100 // rule.limit.micro,
        **({"currentPeriod": {"startTime": format_time(start), "endTime": format_time(end)}} if rule.is_monthly else {}),
        "conditions": [
            {
                "type": "Exceeded",
                "status": "True" if is_exceeded else "False",
                "reason": "LimitReached" if is_exceeded else "WithinLimit",
                "message": f"{used.shown} of {rule.limit.shown} spent or held{_of_storage(guard.accrued)}.",
                "observedGeneration": status.observed_generation,
            }
        ],
        "observedGeneration": status.observed_generation,
    }


def _of_storage(accrued: Money) -> str:
    return f", {accrued.shown} of it storage so far" if accrued else ""


def labels_by_uid(snapshot: Snapshot) -> Mapping[str, Mapping[str, str]]:
    """Labels of everything the state has, for Budgets with a selector."""
    return {one.record.uid: one.record.labels for one in snapshot}


def bound_by(address: Address, snapshot: Snapshot, project: str) -> tuple[Address, ...]:
    """Workspaces and Functions that count for a Budget, by address."""
    standing = snapshot.get(address)
    if standing is None:
        return ()
    rule = budget_rule(address, standing.record.spec)
    counted = (one.record for one in snapshot if one.record.address.kind in {"workspace", "function"})
    return tuple(sorted(one.address for one in counted if rule.covers(project, one.labels)))
