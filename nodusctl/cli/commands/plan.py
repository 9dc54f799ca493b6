"""``nodusctl plan [PATH…]``: what apply would do, what it would cost, and what stops it. Writes nothing but the plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.apply_settings import says_ci
from nodusctl.cli.offline import plan_from_snapshot, snapshot_of
from nodusctl.cli.options import (
    AcceptBaseMovedOption,
    AcceptNoEdgeOption,
    AllowDeletesOption,
    BaseOption,
    CiOption,
    FilesOption,
    JsonOption,
    JUnitOption,
    PathsArgument,
    PruneOption,
    RestartOption,
    SarifOption,
    TargetOption,
    wiring_of,
)
from nodusctl.cli.planning import fresh_plan, say_lock, say_plan
from nodusctl.cli.ticker_warning import say_no_ticker
from nodusctl.cli.wiring import Wiring
from nodusctl.cli.words import address_of, usage_error
from nodusctl.engine.plan import PlanRequest
from nodusctl.plan.plan import Plan


def plan(
    context: typer.Context,
    *,
    paths: PathsArgument = None,
    files: FilesOption = None,
    out: Annotated[
        str, typer.Option("-o", "--out", metavar="FILE", help="Save the plan, to be reviewed and applied as it is.", show_default=False)
    ] = "",
    is_json: JsonOption = False,
    is_detailed: Annotated[bool, typer.Option("--detailed-exitcode", help="Exit 2 when there are changes.")] = False,
    targets: TargetOption = None,
    is_offline: Annotated[
        bool,
        typer.Option("--offline", help="Ask no provider. With a snapshot a whole plan; without one the differences, no offers, no prices."),
    ] = False,
    snapshot: Annotated[
        str,
        typer.Option(
            "--snapshot",
            metavar="FILE",
            help="Plan offline from this file of nodusctl state snapshot, and read no state. [default with --offline: "
            ".nodus.snapshot.json, where there is one]",
            show_default=False,
        ),
    ] = "",
    prunes: PruneOption = False,
    allow_deletes: AllowDeletesOption = None,
    restarts: RestartOption = None,
    accepts_no_edge: AcceptNoEdgeOption = False,
    base: BaseOption = "",
    accepts_base_moved: AcceptBaseMovedOption = False,
    is_ci: CiOption = False,
    junit: JUnitOption = "",
    sarif: SarifOption = "",
) -> ExitCode:
    """Compare the files with the state: changes, cost (p50, p90, at most), everything that would block an apply."""
    from nodusctl.engine.plan_files import save_plan

    wiring = wiring_of(context)
    wiring.report("plan", junit=junit, sarif=sarif)
    wiring.select([*(paths or ()), *(files or ())])
    output = wiring.output(is_json=is_json)
    request = PlanRequest(
        paths=wiring.project.paths,
        targets=tuple(address_of(one) for one in targets or ()),
        restarts=tuple(address_of(one) for one in restarts or ()),
        is_offline=is_offline,
        allow_deletes=allow_deletes,
        prunes=prunes,
        accepts_no_edge=accepts_no_edge,
        accepts_base_moved=accepts_base_moved,
        is_ci=says_ci(wiring, flag=is_ci),
    )
    file = snapshot_of(wiring, snapshot, is_offline=is_offline)
    made = _made(wiring, replace(request, is_offline=request.is_offline and file is None), file, base, out)
    if out:
        path = wiring.start / out
        try:
            save_plan(made, path, state_folder=wiring.project.state_folder)
        except OSError as fault:
            usage_error("The plan can't be saved", f"{path}: {fault.strerror}.", "Name a file you may write, with -o.")
        output.remark(_saved_text(made, _shown(path, wiring.start)))
    return made.exit_code(is_detailed=is_detailed)


def _made(wiring: Wiring, request: PlanRequest, snapshot: Path | None, base: str, out: str) -> Plan:
    """The plan, said; from a snapshot nothing of the state is looked at."""
    output = wiring.output(is_json=False)
    if snapshot is not None:
        made = plan_from_snapshot(wiring, request, snapshot, base)
        say_plan(made, wiring, output, out)
        return made
    say_lock(wiring, output)
    made = fresh_plan(wiring, request, base)
    say_plan(made, wiring, output, out)
    say_no_ticker(wiring, output)
    return made


def _saved_text(plan: Plan, file: str) -> str:
    """How a saved plan is applied: only by its hash where a snapshot stood in for the state, not at all while blocked or without prices."""
    from nodusctl.planner.noting import PLANNED_OFFLINE
    from nodusctl.render.comment_apply import by_hash
    from nodusctl.render.counting import counted

    blocking = [reason for reason in plan.reasons if not reason.is_always_skipped]
    if blocking:
        return f"Saved for review; it can't be applied as it is: {counted(len(blocking), 'reason')} above."
    if any(PLANNED_OFFLINE in action.notes for action in plan.actions):
        return (
            "Saved for review; it can't be applied as it is: it was planned offline, without prices. Plan again:\n  nodusctl plan -o FILE"
        )
    return f"Saved. To apply exactly this:\n  {f'nodusctl apply {file}' if plan.basis.snapshot_at is None else by_hash(plan)}"


def _shown(path: Path, start: Path) -> str:
    return str(path.relative_to(start)) if path.is_relative_to(start) else str(path)


app = one_command(plan)
