"""``nodusctl budgets [NAME]``: every Budget with what it has spent, holds and has left, and the granted balance."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.words import address_of, usage_error


def budgets(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="BUDGET", help="team or budget/team; default: all.", show_default=False)] = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """What each Budget allows, what counts against it now, and which objects it binds."""
    from nodusctl.engine.budget_report import budget_report
    from nodusctl.render.budgets import budgets_document, budgets_text

    only = address_of(name if "/" in name else f"budget/{name}") if name else None
    if only is not None and only.kind != "budget":
        usage_error("Only a Budget can be named here", f"It says {name!r}.", f"nodusctl get {only}")
    wiring = wiring_of(context)
    report = budget_report(journal=wiring.journal, project=wiring.project.name, now=wiring.clock.now(), only=only)
    output = wiring.output(is_json=is_json)
    output.result("result", lambda style: budgets_text(report, style), lambda: budgets_document(report))
    return ExitCode.DONE


app = one_command(budgets)
