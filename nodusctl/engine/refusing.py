"""Why a plan may no longer be applied: the state, or the outside, has left it behind."""

from __future__ import annotations

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.base.timestamps import format_time
from nodusctl.plan.facts import moved_fact
from nodusctl.plan.plan import Plan
from nodusctl.ports.journal import OperationNote
from nodusctl.ports.providers import ProviderSet
from nodusctl.state.snapshot import Snapshot

_AGAIN = "Make a new plan and have it reviewed:\n  nodusctl plan -o FILE"


def stale_diagnostic(kind: str, plan: Plan, snapshot: Snapshot, by: OperationNote | None) -> Diagnostic:
    """consumed, lineage or serial, each with its own message."""
    who = f"{by.command} by {by.by} at {format_time(by.at)}" if by is not None else "an operation that is no longer in the history"
    if kind == "consumed":
        detail = f"It was applied by: {who}.\nA plan is applied once."
        return error("Conflict", "This plan was already applied.", detail, _AGAIN)
    if kind == "lineage":
        detail = (
            f"The plan was made from another state ({plan.basis.state_url or 'no state yet'}); this one has lineage {snapshot.lineage}."
        )
        return error("Conflict", "This plan belongs to another state.", detail, _AGAIN)
    detail = f"The plan was made at serial {plan.basis.serial}; the state is at {snapshot.serial}, moved by: {who}."
    return error("Conflict", "The state moved since this plan was made.", detail, _AGAIN)


def facts_moved(plan: Plan, snapshot: Snapshot) -> Diagnostic | None:
    """The first Action whose facts no longer hold, or None."""
    for action in plan.actions:
        moved = moved_fact(action, snapshot)
        if moved:
            return error(
                "Conflict", "Something this plan relies on changed.", f"{action.address}: {moved}.", _AGAIN, address=str(action.address)
            )
    return None


def wrong_provider_version(plan: Plan, providers: ProviderSet) -> Diagnostic | None:
    """A provider the plan was made with is now another version, or None."""
    for instance, version in sorted(plan.basis.providers.items()):
        try:
            now = providers.get(instance).description.version
        except UserError:
            continue
        if version and now != version:
            detail = f"{instance} was {version} when the plan was made and is {now} now."
            return error("Conflict", "A provider changed since this plan was made.", detail, _AGAIN)
    return None


def secret_moved(address: Address) -> Diagnostic:
    """A Secret's source gives other bytes than the ones the plan was made with."""
    detail = f"The source of {address} gives another value than when the plan was made."
    return error("Conflict", "A Secret changed since this plan was made.", detail, _AGAIN, address=str(address))
