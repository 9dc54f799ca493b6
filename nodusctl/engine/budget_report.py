"""``budgets`` and ``credits``: every Budget as it stands, what was granted, and posting a grant.

A grant is posted under the plan lock like any change by hand. From the first one on, holds must fit what is left of all grants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from nodusctl.attempts.events import Remarked
from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money, total
from nodusctl.engine.inspect_budgets import bound_by, budget_status
from nodusctl.engine.locking import under_plan_lock
from nodusctl.executor.outside import Outside
from nodusctl.ledger.build import grant
from nodusctl.ledger.entries import Entry, EntryKind
from nodusctl.ledger.room import Tally
from nodusctl.ports.journal import Consumption, Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLine:
    """One Budget: its spec, its status as ``get`` shows it, and how many Workspaces and Functions it binds now."""

    address: Address
    spec: Mapping[str, Any]
    status: Mapping[str, Any]
    binds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Credits:
    """The granted balance. ``available`` is what neither is held nor was charged; nothing is checked before the first grant."""

    granted: Money = ZERO
    charged: Money = ZERO
    held: Money = ZERO
    available: Money = ZERO
    grants: tuple[Entry, ...] = ()

    @property
    def is_prepaid(self) -> bool:
        """True once anything was granted."""
        return bool(self.grants)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetReport:
    """All limits of a state that are not an object's own cap."""

    budgets: tuple[BudgetLine, ...]
    credits: Credits


def budget_report(*, journal: Journal, project: str, now: datetime, only: Address | None = None) -> BudgetReport:
    """Every Budget, or one; UserError (NotFound) where the one named isn't there."""
    snapshot, tally = journal.snapshot(), journal.tally()
    chosen = [one for one in snapshot if one.record.address.kind == "budget" and only in (None, one.record.address)]
    if only is not None and not chosen:
        raise UserError(
            error("NotFound", "There is no such Budget", f"The state has no {only}.", "list what there is:\n  nodusctl budgets")
        )
    lines = tuple(
        BudgetLine(
            address=one.record.address,
            spec=one.record.spec,
            status=budget_status(one.record, one.status, snapshot, tally, project=project, now=now),
            binds=len(bound_by(one.record.address, snapshot, project)),
        )
        for one in chosen
    )
    return BudgetReport(budgets=lines, credits=credits_of(journal, tally))


def credits_of(journal: Journal, tally: Tally) -> Credits:
    """The granted balance; the ledger is read only where anything was granted."""
    if not tally.has_grant:
        return Credits()
    grants = tuple(entry for entry in journal.entries("") if entry.kind is EntryKind.GRANT)
    return Credits(
        granted=total(entry.postings[1].amount for entry in grants),
        charged=tally.charged(None, None),
        held=tally.held(None),
        available=tally.available,
        grants=grants,
    )


def post_grant(amount: Money, memo: str, *, outside: Outside, command: str, lock_timeout: timedelta) -> Credits:
    """Add to what may be held and charged; UserError unless above zero. The state is made where there is none."""
    if amount <= ZERO:
        raise UserError(error("Invalid", "A grant is above zero.", f"{amount.shown} was asked for."))
    under_plan_lock(outside.claims, command, lock_timeout, lambda: outside.journal.consume(_granting(amount, memo, outside, command)))
    return credits_of(outside.journal, outside.journal.tally())


def _granting(amount: Money, memo: str, outside: Outside, command: str) -> Consumption:
    now, uid, snapshot = outside.clock.now(), outside.ids.new_uid(), outside.journal.snapshot()
    said = Remarked(time=now, object_uid="", code="Granted", message=f"{amount.shown} by {outside.owner}" + (f": {memo}" if memo else ""))
    return Consumption(
        operation_id=uid,
        command=command,
        by=outside.owner,
        at=now,
        lineage=snapshot.lineage or outside.ids.new_uid(),
        serial=snapshot.serial,
        plan_hash="",
        plan_id=uid,
        action_addresses=(),
        events=(said,),
        project=outside.project,
        entries=(grant(f"grant/{uid}", now, amount, memo),),
    )
