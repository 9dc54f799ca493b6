"""``nodusctl forget K/N``: remove a record and leave what it has outside."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.apply_settings import apply_settings
from nodusctl.cli.carrying import working
from nodusctl.cli.options import JsonOption, LockTimeoutOption, YesOption, wiring_of
from nodusctl.cli.outside_changes import agreed, rates_of
from nodusctl.cli.prompt import require_answerable
from nodusctl.cli.words import address_of
from nodusctl.engine.forgetting import forget as carry_out
from nodusctl.engine.forgetting import plan_forgetting
from nodusctl.render.orphans import forgetting_document, forgetting_text


def forget(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="K/N", help="One object, such as workspace/lab.")],
    even_if_running: Annotated[
        bool, typer.Option("--even-if-running", help="Also where a session runs: it runs on without a record.")
    ] = False,
    is_agreed: YesOption = False,
    lock_timeout: LockTimeoutOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Plan, ask, remove the record; no provider is called. What it has there is listed with its price, and is an orphan from then on."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    require_answerable(wiring.surroundings, is_agreed=is_agreed)
    forgetting = plan_forgetting(
        address_of(name), journal=wiring.journal, rates=rates_of(wiring), now=wiring.clock.now(), even_if_running=even_if_running
    )
    shown = (lambda style: forgetting_text(forgetting, style), lambda: forgetting_document(forgetting))
    if not agreed(wiring, output, *shown, "Forget it?", is_agreed=is_agreed):
        return ExitCode.ERROR
    settings = apply_settings(wiring, lock_timeout=lock_timeout)
    with working(wiring, output) as work:
        carry_out(forgetting, outside=work.outside, command=wiring.command, lock_timeout=settings.lock_timeout)
    said = f"{forgetting.address} is forgotten."
    output.result("result", lambda style: said, lambda: {"forgotten": str(forgetting.address)})
    return ExitCode.DONE


app = one_command(forget)
