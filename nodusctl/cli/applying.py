"""How an apply is approved (a file handed over, an answer; by a hash: ``reviewing``), and carrying the approved plan out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.cli.carrying import report, working
from nodusctl.cli.planning import fresh_plan, planning_sources, policy_command, repository_of, say_plan
from nodusctl.cli.prompt import agrees
from nodusctl.cli.wiring import Wiring
from nodusctl.engine.applying import ApplySettings, Recheck, apply_plan, blocking
from nodusctl.engine.plan import PlanRequest
from nodusctl.engine.plan_files import open_plan
from nodusctl.engine.refusing import LeftBehind
from nodusctl.engine.repricing import AskedRate
from nodusctl.engine.resuming import resume_plan
from nodusctl.engine.secret_reading import values_for
from nodusctl.plan.hashing import does_the_same, plan_hash
from nodusctl.plan.plan import Plan
from nodusctl.plan.reasons import exit_code_of_reasons

_PLANNED_AGAIN = 5


@dataclass(frozen=True, slots=True)
class Approved:
    """A plan somebody has agreed to. ``again`` makes the same request's plan anew; None for one that was reviewed as it is."""

    plan: Plan
    settings: ApplySettings
    resumes: bool = False
    again: Callable[[], Plan] | None = None


def approve_saved(path: Path, settings: ApplySettings, *, resumes: bool = False) -> Approved:
    """Handing a plan file over is the approval. ``resumes`` carries on what is left of one that was started."""
    plan, _ = open_plan(path)
    if plan.basis.snapshot_at is not None:
        raise UserError(_only_by_hash(plan), exit_code=ExitCode.REFUSED)
    return Approved(plan, replace(settings, is_saved_plan=True, skip_blocked=plan.allow.skips_blocked), resumes)


def _only_by_hash(plan: Plan) -> Diagnostic:
    """Whoever made a snapshot's plan had neither the state nor the providers before them; what it comes to is made again where they are."""
    detail = "It says what the files would change in the state as it was written down, not in the state itself."
    fix = f"Apply the plan of this hash, made again here:\n  nodusctl apply --plan-hash {plan_hash(plan)}"
    return error("Conflict", "A plan made from a snapshot is applied by its hash.", detail, fix)


def approve_fresh(request: PlanRequest, wiring: Wiring, settings: ApplySettings, *, base: str, is_agreed: bool) -> Approved | ExitCode:
    """Plan, show, and ask. What is blocked or unchanged is never asked about."""
    plan = fresh_plan(wiring, request, base)
    approved = ask_about(plan, wiring, settings, "Apply this plan?", is_agreed=is_agreed)
    return approved if isinstance(approved, ExitCode) else replace(approved, again=lambda: _fresh_plan_now(wiring, request, base))


def _fresh_plan_now(wiring: Wiring, request: PlanRequest, base: str) -> Plan:
    wiring.reopen_reading()
    return fresh_plan(wiring, request, base)


def ask_about(plan: Plan, wiring: Wiring, settings: ApplySettings, question: str, *, is_agreed: bool) -> Approved | ExitCode:
    """Show the plan; the approval, or the exit code where there is nothing to approve or the answer was no."""
    output = wiring.output(is_json=False)
    say_plan(plan, wiring, output)
    blocked = blocking(plan, settings)
    if blocked:
        output.remark("Nothing was changed: the plan above says what blocks it, and the fix of each.")
        return exit_code_of_reasons(blocked)
    is_asked = not is_agreed and plan.has_changes
    if is_asked and not agrees(wiring.surroundings, question):
        output.remark("Nothing was changed.")
        return ExitCode.ERROR
    return Approved(plan, replace(settings, asks_prices=is_asked))


def apply_approved(approved: Approved, wiring: Wiring) -> ExitCode:
    """Carry it out and say what became of it.

    Where somebody else moved the state between planning and starting, a plan that was just made is made again: one that would do the same
    goes on. What would do anything else was agreed to by nobody, and stays refused (11).
    """
    for _ in range(_PLANNED_AGAIN):
        try:
            return _carry_out(approved, wiring)
        except LeftBehind:
            fresh = approved.again() if approved.again is not None else None
            if fresh is None or not does_the_same(approved.plan, fresh):
                raise
            wiring.output(is_json=False).remark("The state moved meanwhile; planned again, the plan is the same.")
            approved = replace(approved, plan=fresh)
    return _carry_out(approved, wiring)


def _carry_out(approved: Approved, wiring: Wiring) -> ExitCode:
    output = wiring.output(is_json=False)
    project = wiring.project
    values = values_for(approved.plan, root=project.folder, project=project.file, secrets=wiring.secrets)
    carry_out = resume_plan if approved.resumes else apply_plan
    with working(wiring, output) as work:
        result = carry_out(
            approved.plan,
            outside=work.outside,
            rate_of=_rates(wiring),
            command=wiring.command,
            settings=approved.settings,
            interrupts=work.interrupts,
            secrets=values,
            recheck=_recheck(approved, wiring),
        )
    return report(result, work, output)


def _rates(wiring: Wiring) -> AskedRate:
    from nodusctl.engine.current_rates import CurrentRates
    from nodusctl.engine.market import configured_rates

    return CurrentRates(wiring.providers, wiring.prices, configured_rates(wiring.project.file)).today


def _recheck(approved: Approved, wiring: Wiring) -> Recheck | None:
    """What a plan that comes from a file meets now; one made a moment ago met it then."""
    if not approved.settings.is_saved_plan:
        return None
    from nodusctl.engine.base_work import moved_base
    from nodusctl.engine.rechecking import SavedPlanCheck

    project, plan = wiring.project, approved.plan
    base = partial(moved_base, repository_of(wiring), plan, project.folder, project.file)
    command = policy_command(wiring)
    sources = planning_sources(wiring)
    if command is None:
        return SavedPlanCheck(plan, sources, project.file, moved_base=base)
    return SavedPlanCheck(plan, sources, project.file, moved_base=base, judge=command.reasons)
