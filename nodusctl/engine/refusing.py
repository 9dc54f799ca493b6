"""Why a plan may no longer be applied: the state, or the outside, has left it behind."""

from __future__ import annotations

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.base.timestamps import format_time
from nodusctl.plan.facts import moved_fact
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan
from nodusctl.ports.journal import Journal, OperationNote
from nodusctl.ports.providers import ProviderSet
from nodusctl.state.snapshot import Snapshot

_AGAIN = "Make a new plan and have it reviewed:\n  nodusctl plan -o FILE"


class LeftBehind(UserError):
    """The state moved after the plan was made. One made anew may well say the same."""


def refuse_if_behind(plan: Plan, snapshot: Snapshot, journal: Journal, providers: ProviderSet) -> None:
    """UserError (11) for the first refusal of cli.md, "Plan file": consumed, lineage, serial, a fact, a provider's version."""
    used = journal.consumed_by(plan_hash(plan), plan.id)
    if used is not None:
        raise UserError(already_applied(used), exit_code=ExitCode.REFUSED)
    moved = another_state(plan, snapshot, journal) or moved_serial(plan, snapshot, journal) or facts_moved(plan, snapshot)
    if moved is not None:
        raise LeftBehind(moved, exit_code=ExitCode.REFUSED)
    changed = wrong_provider_version(plan, providers)
    if changed is not None:
        raise UserError(changed, exit_code=ExitCode.REFUSED)


def already_applied(by: OperationNote) -> Diagnostic:
    """It was started before, whatever became of it."""
    detail = f"It was applied by: {operation_words(by)}.\nA plan is applied once."
    fix = f"To go on with what is left of it:\n  nodusctl apply PLAN --resume\n{_AGAIN}"
    return error("Conflict", "This plan was already applied.", detail, fix)


def another_state(plan: Plan, snapshot: Snapshot, journal: Journal) -> Diagnostic | None:
    """The plan belongs to a state that isn't this one, or that isn't there any more; both places are named."""
    basis, here = plan.basis, journal.facts().get("url", "")
    if snapshot.lineage == basis.lineage or (basis.is_fresh_state and not snapshot.lineage):
        return None
    there = "when there was no state yet" if basis.is_fresh_state else f"for the state at {basis.state_url}, lineage {basis.lineage}"
    newest = next(iter(journal.operations(limit=1)), None)
    by = f", moved last by: {operation_words(newest)}" if newest is not None else ""
    now = f"the state at {here} has lineage {snapshot.lineage}{by}" if snapshot.lineage else f"there is no state at {here}"
    return error("Conflict", "This plan belongs to another state.", f"The plan was made {there}; {now}.", _AGAIN)


def moved_serial(plan: Plan, snapshot: Snapshot, journal: Journal) -> Diagnostic | None:
    """What is desired changed since, with the operation that changed it last."""
    if plan.basis.serial == snapshot.serial:
        return None
    newest = next(iter(journal.operations(limit=1)), None)
    by = operation_words(newest) if newest is not None else "an operation that is no longer in the history"
    detail = f"The plan was made at serial {plan.basis.serial}; the state is at {snapshot.serial}, moved by: {by}."
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
    """A provider the plan was made with is now another version, or other files of the same version, or None."""
    for instance, version in sorted(plan.basis.providers.items()):
        try:
            loaded = providers.get(instance)
        except UserError:
            continue
        now, digest = loaded.description.version, plan.basis.plugin_digests.get(instance, "")
        if version and now != version:
            detail = f"{instance} was {version} when the plan was made and is {now} now."
            return error("Conflict", "A provider changed since this plan was made.", detail, _AGAIN)
        if digest != loaded.digest:
            detail = f"{instance} is {now}, as when the plan was made, and its files are others."
            return error("Conflict", "A provider changed since this plan was made.", detail, _AGAIN)
    return None


def secret_moved(address: Address) -> Diagnostic:
    """A Secret's source gives other bytes than the ones the plan was made with."""
    detail = f"The source of {address} gives another value than when the plan was made."
    return error("Conflict", "A Secret changed since this plan was made.", detail, _AGAIN, address=str(address))


def operation_words(operation: OperationNote) -> str:
    """``nodusctl apply by ada@lab1 at 2026-10-26T07:00:00Z``."""
    return f"{operation.command} by {operation.by} at {format_time(operation.at)}"
