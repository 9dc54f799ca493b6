"""``nodusctl describe K/N``."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.words import address_of
from nodusctl.engine.inspect_one import describe as gather
from nodusctl.render.descriptions import description_document, description_text


def describe(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="KIND/NAME", help="One object, such as workspace/lab.")],
    is_json: JsonOption = False,
) -> ExitCode:
    """Everything about one object: spec, status, conditions, attempts, events."""
    wiring = wiring_of(context)
    now = wiring.clock.now()
    project = wiring.project
    lead = project.file.settings.window_lead
    found = gather(address_of(name), journal=wiring.journal, project=project.name, now=now, lead=lead)
    output = wiring.output(is_json=is_json)
    output.result("result", lambda style: description_text(found, style, now=now), lambda: description_document(found))
    return ExitCode.DONE


app = one_command(describe)
