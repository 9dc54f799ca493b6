"""How an apply is approved (a file handed over, a hash, an answer), and carrying the approved plan out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.cli.carrying import report, working
from nodusctl.cli.planning import fresh_plan, say_plan
from nodusctl.cli.prompt import agrees
from nodusctl.cli.wiring import Wiring
from nodusctl.engine.applying import ApplySettings, apply_plan, blocking
from nodusctl.engine.plan import PlanRequest
from nodusctl.engine.plan_files import kept_plan, open_plan
from nodusctl.engine.secret_reading import values_for
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Approved:
    """A plan somebody has agreed to."""

    plan: Plan
    settings: ApplySettings


def approve_saved(path: Path, wiring: Wiring, settings: ApplySettings) -> Approved:
    """Handing a plan file over is the approval."""
    plan, _ = open_plan(path)
    return Approved(plan, replace(settings, is_saved_plan=True, skip_blocked=plan.allow.skips_blocked))


def approve_fresh(request: PlanRequest, wiring: Wiring, settings: ApplySettings, *, is_agreed: bool) -> Approved | ExitCode:
    """Plan, show, and ask. What is blocked or unchanged is never asked about."""
    plan = fresh_plan(wiring, request)
    return ask_about(plan, wiring, settings, "Apply this plan?", is_agreed=is_agreed)


def ask_about(plan: Plan, wiring: Wiring, settings: ApplySettings, question: str, *, is_agreed: bool) -> Approved | ExitCode:
    """Show the plan; the approval, or the exit code where there is nothing to approve or the answer was no."""
    output = wiring.output(is_json=False)
    say_plan(plan, wiring, output)
    if blocking(plan, settings):
        output.remark("Nothing was changed: the plan above says what blocks it, and the fix of each.")
        return ExitCode.BLOCKED
    if not is_agreed and plan.has_changes and not agrees(wiring.surroundings, question):
        output.remark("Nothing was changed.")
        return ExitCode.ERROR
    return Approved(plan, settings)


def approve_hash(wanted: str, beside: Path | None, request: PlanRequest, wiring: Wiring, settings: ApplySettings) -> Approved:
    """A fresh plan with the reviewed hash is the reviewed plan. UserError (11) with the difference where it isn't."""
    plan = fresh_plan(wiring, request)
    now = plan_hash(plan)
    if now == wanted:
        return Approved(plan, settings)
    reviewed = open_plan(beside)[0] if beside is not None else kept_plan(wanted, state_folder=wiring.project.state_folder)
    detail = f"Reviewed: {wanted}\nNow:      {now}"
    if reviewed is not None:
        from nodusctl.render.plan_difference import plan_difference_text

        detail += f"\n{plan_difference_text(reviewed, plan)}"
    fix = "have the new plan reviewed:\nnodusctl plan -o FILE"
    raise UserError(error("Conflict", "The plan is not the reviewed one", detail, fix), exit_code=ExitCode.REFUSED)


def apply_approved(approved: Approved, wiring: Wiring) -> ExitCode:
    """Carry it out and say what became of it."""
    from nodusctl.engine.current_rates import CurrentRates
    from nodusctl.engine.market import configured_rates

    output = wiring.output(is_json=False)
    project = wiring.project
    rates = CurrentRates(wiring.providers, wiring.prices, configured_rates(project.file))
    values = values_for(approved.plan, root=project.folder, project=project.file, secrets=wiring.secrets)
    with working(wiring, output) as work:
        result = apply_plan(
            approved.plan,
            outside=work.outside,
            rate_of=rates,
            command=wiring.command,
            settings=approved.settings,
            interrupts=work.interrupts,
            secrets=values,
        )
    return report(result, work, output)
