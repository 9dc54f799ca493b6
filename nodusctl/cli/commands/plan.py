"""``nodusctl plan [PATH…]``: what apply would do, what it would cost, and what stops it. Writes nothing but the plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.options import (
    AcceptNoEdgeOption,
    AllowDeletesOption,
    FilesOption,
    JsonOption,
    PathsArgument,
    PruneOption,
    RestartOption,
    TargetOption,
    wiring_of,
)
from nodusctl.cli.planning import fresh_plan, say_lock, say_plan
from nodusctl.cli.ticker_warning import say_no_ticker
from nodusctl.cli.words import address_of, usage_error


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
    is_offline: Annotated[bool, typer.Option("--offline", help="Ask no provider: no offers, no prices, only the differences.")] = False,
    prunes: PruneOption = False,
    allow_deletes: AllowDeletesOption = None,
    restarts: RestartOption = None,
    accepts_no_edge: AcceptNoEdgeOption = False,
) -> ExitCode:
    """Compare the files with the state: changes, cost (p50, p90, at most), everything that would block an apply."""
    from nodusctl.engine.plan import PlanRequest
    from nodusctl.engine.plan_files import save_plan

    wiring = wiring_of(context)
    wiring.select([*(paths or ()), *(files or ())])
    output = wiring.output(is_json=is_json)
    say_lock(wiring, output)
    request = PlanRequest(
        paths=wiring.project.paths,
        targets=tuple(address_of(one) for one in targets or ()),
        restarts=tuple(address_of(one) for one in restarts or ()),
        is_offline=is_offline,
        allow_deletes=allow_deletes,
        prunes=prunes,
        accepts_no_edge=accepts_no_edge,
    )
    made = fresh_plan(wiring, request)
    say_plan(made, wiring, output)
    say_no_ticker(wiring, output)
    if out:
        path = wiring.start / out
        try:
            save_plan(made, path, state_folder=wiring.project.state_folder)
        except OSError as fault:
            usage_error("The plan can't be saved", f"{path}: {fault.strerror}.")
        output.remark(f"Saved. To apply exactly this:\n  nodusctl apply {_shown(path, wiring.start)}")
    return made.exit_code(is_detailed=is_detailed)


def _shown(path: Path, start: Path) -> str:
    return str(path.relative_to(start)) if path.is_relative_to(start) else str(path)


app = one_command(plan)
