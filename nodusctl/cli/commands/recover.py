"""``nodusctl recover K/N --machine-is-dead ID``: the owner's word where death can't be proved."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.apply_settings import apply_settings
from nodusctl.cli.carrying import report, working
from nodusctl.cli.options import JsonOption, LockTimeoutOption, TimeoutOption, wiring_of
from nodusctl.cli.words import address_of
from nodusctl.engine.declaring import declare_dead


def recover(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="K/N", help="lab or workspace/lab.")],
    machine: Annotated[str, typer.Option("--machine-is-dead", metavar="ID", help="Its current machine, which you know to be dead.")],
    timeout: TimeoutOption = "",
    lock_timeout: LockTimeoutOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Say that a machine is dead, and carry its Workspace on: released, then recovered on its home. Journalled as your word."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    settings = apply_settings(wiring, timeout=timeout, lock_timeout=lock_timeout)
    with working(wiring, output) as work:
        result = declare_dead(
            address_of(name), machine, outside=work.outside, command=wiring.command, settings=settings, interrupts=work.interrupts
        )
    return report(result, work, output)


app = one_command(recover)
