"""``nodusctl completion SHELL``: a script to source. Words come from the program and from local state only."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.completion_scripts import SCRIPTS
from nodusctl.cli.options import wiring_of
from nodusctl.cli.words import usage_error


def completion(
    context: typer.Context,
    *,
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> ExitCode:
    """Print the completion script of a shell; its head says how to use it. Nothing is installed."""
    if shell not in SCRIPTS:
        usage_error("There is no completion for this shell", f"It says {shell!r}.", "nodusctl completion bash, zsh or fish")
    script = SCRIPTS[shell].rstrip("\n")
    wiring_of(context).output(is_json=False).result("result", lambda style: script, lambda: {"shell": shell, "script": script})
    return ExitCode.DONE


app = one_command(completion)
