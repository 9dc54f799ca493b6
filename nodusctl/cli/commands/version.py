"""``nodusctl version``."""

from __future__ import annotations

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.commands.version_line import say_version
from nodusctl.cli.options import JsonOption, wiring_of


def version(context: typer.Context, is_json: JsonOption = False) -> ExitCode:
    """The version of nodusctl."""
    return say_version(wiring_of(context).output(is_json=is_json))


app = one_command(version)
