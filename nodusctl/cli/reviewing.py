"""Approval by a hash: what is planned now is carried out only where it is the plan that was reviewed.

Where the reviewed plan is at hand, all of it that follows from files, state and base branch is compared before any provider is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.cli.applying import Approved
from nodusctl.cli.planning import begun_plan, finished_plan
from nodusctl.cli.wiring import Wiring
from nodusctl.engine.applying import ApplySettings
from nodusctl.engine.plan import PlanRequest
from nodusctl.engine.plan_files import kept_plan, open_plan
from nodusctl.engine.refusing import moved_serial
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan

_UNASKED = "No provider was asked, so offers and prices were not compared; a price that moved is told only where it is published."


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A plan that was reviewed by its hash; ``beside`` is a file with it to tell differences from, ``base`` the branch to plan against."""

    hash: str
    beside: Path | None
    base: str


def approve_hash(wanted: Reviewed, request: PlanRequest, wiring: Wiring, settings: ApplySettings) -> Approved:
    """A fresh plan with the reviewed hash is the reviewed plan. UserError (11) with the difference where it isn't."""
    reviewed = _at_hand(wanted, wiring)
    begun = begun_plan(wiring, request, wanted.base)
    if reviewed is not None:
        so_far = begun.as_reviewed(reviewed)
        if plan_hash(so_far) != wanted.hash:
            raise _another_plan(wanted, f"{_differences(reviewed, _with_posted_prices(so_far, wiring), wiring)}\n{_UNASKED}")
    plan = finished_plan(begun, wiring)
    if plan_hash(plan) == wanted.hash:
        return Approved(plan, settings)
    now = f"Now:      {plan_hash(plan)}"
    raise _another_plan(wanted, now if reviewed is None else f"{now}\n{_differences(reviewed, plan, wiring)}")


def _at_hand(wanted: Reviewed, wiring: Wiring) -> Plan | None:
    """The reviewed plan itself: the file given beside its hash, else the copy that was kept; None where neither is that plan."""
    beside = open_plan(wanted.beside)[0] if wanted.beside is not None else None
    kept = kept_plan(wanted.hash, state_folder=wiring.project.state_folder)
    return next((plan for plan in (beside, kept) if plan is not None and plan_hash(plan) == wanted.hash), None)


def _with_posted_prices(plan: Plan, wiring: Wiring) -> Plan:
    from nodusctl.engine.market import configured_rates
    from nodusctl.engine.posted_prices import at_posted_prices

    return at_posted_prices(plan, wiring.providers, wiring.prices, configured_rates(wiring.project.file), plan.created_at)


def _differences(reviewed: Plan, fresh: Plan, wiring: Wiring) -> str:
    """Field by field, and who moved the state where it was moved."""
    from nodusctl.render.plan_difference import plan_difference_text

    moved = moved_serial(reviewed, wiring.journal.snapshot(), wiring.journal)
    return "\n".join([plan_difference_text(reviewed, fresh), *([moved.detail] if moved is not None else [])])


def _another_plan(wanted: Reviewed, differences: str) -> UserError:
    beside = wanted.beside
    stray = ""
    if beside is not None and (found := plan_hash(open_plan(beside)[0])) != wanted.hash:
        stray = f"\n{beside.name} is another plan: {found}"
    detail = f"Reviewed: {wanted.hash}{stray}\n{differences}"
    fix = "have the new plan reviewed:\nnodusctl plan -o FILE"
    return UserError(error("Conflict", "The plan is not the reviewed one", detail, fix), exit_code=ExitCode.REFUSED)
