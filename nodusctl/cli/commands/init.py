"""``nodusctl init [DIR]``: a project that plans at once; nothing that exists is overwritten."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.engine.ci_workflow import WorkflowForge
from nodusctl.engine.scaffold import ScaffoldedFile, scaffold
from nodusctl.render.tables import pairs


def init(
    context: typer.Context,
    *,
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The project's folder; default: here.", show_default=False)] = "",
    forge: Annotated[
        WorkflowForge | None,
        typer.Option("--forge", help="Whose CI the workflow is for. [default: that of the git remote, else github]", show_default=False),
    ] = None,
    is_json: JsonOption = False,
) -> ExitCode:
    """Scaffold a project: nodusctl.yaml, a Workspace with its home Volume, a CI workflow, the .gitignore entries. Never overwrites."""
    wiring = wiring_of(context)
    made = scaffold(wiring.start / folder if folder else wiring.start, forge)
    output = wiring.output(is_json=is_json)
    output.result(
        "result", lambda style: _words(made, folder), lambda: {"files": [{"name": one.name, "fate": one.fate.value} for one in made]}
    )
    return ExitCode.DONE


def _words(made: tuple[ScaffoldedFile, ...], folder: str) -> str:
    place = f" {folder}" if folder else ""
    head = pairs([(one.name, one.fate.value) for one in made])
    return f"{head}\n\nNext, see what it would do and cost; this changes nothing:\n  nodusctl plan{place}"


app = one_command(init)
