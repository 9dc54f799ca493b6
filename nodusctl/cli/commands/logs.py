"""``nodusctl logs WORKSPACE [-f]``."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.options import wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.words import address_of

_GAP_SECONDS = 0.5


def logs(
    context: typer.Context,
    *,
    workspace: Annotated[str, typer.Argument(metavar="WORKSPACE", help="lab or workspace/lab.")],
    follows: Annotated[bool, typer.Option("-f", "--follow", help="Go on with what is added, until the machine ends or Ctrl-C.")] = False,
) -> ExitCode:
    """What a Workspace's machine has written: its keeper, its sshd, JupyterLab and the browser editor."""
    from nodusctl.engine.machine_logs import grown, log_of

    wiring = wiring_of(context)
    output = wiring.output(is_json=False)
    read = log_of(address_of(workspace), journal=wiring.journal, providers=wiring.providers)
    if not follows:
        with told_when_slow(output, wiring.wall, "asking for the log"):
            text = read()
        output.result("result", lambda style: text.rstrip("\n"), lambda: {"log": text})
        return ExitCode.DONE
    for part in grown(read, lambda: wiring.wall.sleep(_GAP_SECONDS)):
        output.result("result", lambda style, part=part: part.rstrip("\n"), lambda part=part: {"log": part})  # type: ignore[misc]
    return ExitCode.DONE


app = one_command(logs)
