"""``nodusctl schema [KIND]``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.options import wiring_of
from nodusctl.cli.words import kind_of
from nodusctl.render.style import Style
from nodusctl.render.tables import table
from nodusctl.resources.kinds import KINDS


def schema(
    context: typer.Context,
    *,
    kind: Annotated[
        str,
        typer.Argument(metavar="KIND", help="Workspace, ws, …, or project for nodusctl.yaml; default: list the kinds.", show_default=False),
    ] = "",
) -> ExitCode:
    """The JSON Schema of a kind, for editors and checks."""
    output = wiring_of(context).output(is_json=False)
    if not kind:
        output.result("result", _kinds, lambda: {"kinds": list(KINDS)})
        return ExitCode.DONE
    text = _schema(kind)
    output.result("result", lambda style: text.rstrip("\n"), lambda: json.loads(text))
    return ExitCode.DONE


def _schema(kind: str) -> str:
    from nodusctl.resources import schema as schemas

    if kind.lower() in {"project", "nodusctl.yaml"}:
        return schemas.all_schemas()[schemas.PROJECT_SCHEMA]
    return schemas.schema_text(kind_of(kind).kind)


def _kinds(style: Style) -> str:
    rows = [[facts.kind, ",".join(facts.short_names), facts.description] for facts in KINDS.values()]
    return table(("KIND", "SHORT", "WHAT IT IS"), rows, style)


app = one_command(schema)
