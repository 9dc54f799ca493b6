"""``show``: a saved plan, always, and whether it could still be applied. Only apply refuses."""

from __future__ import annotations

from dataclasses import dataclass

from nodusctl.base.timestamps import format_time
from nodusctl.plan.facts import moved_fact
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan
from nodusctl.ports.journal import Journal, OperationNote


@dataclass(frozen=True, slots=True, kw_only=True)
class Staleness:
    """Why a plan can't be applied any more: ``kind`` is consumed, lineage, serial or fact; ``detail`` a whole sentence."""

    kind: str
    detail: str


def staleness(plan: Plan, journal: Journal) -> Staleness | None:
    """What has moved since ``plan`` was made, in the order apply refuses in; None while it is fresh.

    A plan made from a snapshot may be shown where its state is not.
    """
    used = journal.consumed_by(plan_hash(plan), plan.id)
    if used is not None:
        return Staleness(kind="consumed", detail=f"It was applied {_by(used)}.")
    snapshot, basis = journal.snapshot(), plan.basis
    if basis.snapshot_at is not None and not journal.exists():
        return None
    if basis.is_fresh_state and journal.exists():
        first = _newest(journal)
        return Staleness(kind="lineage", detail=f"It was made before there was a state; one was made {_by(first)}.")
    if not basis.is_fresh_state and snapshot.lineage != basis.lineage:
        place = journal.facts().get("url", "")
        return Staleness(kind="lineage", detail=f"It was made for the state at {basis.state_url}; the state at {place} is another one.")
    if snapshot.serial != basis.serial:
        detail = f"The state was at serial {basis.serial} and is at {snapshot.serial}; it was moved {_by(_newest(journal))}."
        return Staleness(kind="serial", detail=detail)
    for action in plan.actions:
        moved = moved_fact(action, snapshot)
        if moved:
            return Staleness(kind="fact", detail=f"{action.address}: {moved}.")
    return None


def _newest(journal: Journal) -> OperationNote | None:
    return next(iter(journal.operations(1)), None)


def _by(operation: OperationNote | None) -> str:
    if operation is None:
        return "by an operation that isn't recorded"
    return f"{format_time(operation.at)} by {operation.by} ({operation.command}, operation {operation.operation_id})"
