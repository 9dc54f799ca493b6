"""``nodusctl tick``: one pass over everything that is due now, for cron."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.interrupting import interruptible
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.output.protocol import Output
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.ticking import one_pass
from nodusctl.cli.wiring import Wiring
from nodusctl.render.ticks import tick_diagnostics, tick_document, tick_text


def tick(
    context: typer.Context,
    *,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing unless something went wrong.")] = False,
    parallelism: Annotated[int, typer.Option("--parallelism", min=1, max=100, help="Provider calls at once.")] = 10,
    is_json: JsonOption = False,
) -> ExitCode:
    """Do what is due now and leave: settle, look, stop, renew, start. It waits for no boot; the next pass goes on."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    with interruptible(output) as interruption, _told_when_slow(wiring, output, is_quiet=quiet and not is_json):
        result = one_pass(wiring, interruption.interrupts, parallelism=parallelism)
    output.diagnose(tick_diagnostics(result))
    if not quiet or is_json:
        output.result("result", lambda style: tick_text(result, style), lambda: tick_document(result))
    return interruption.code(result.exit_code)


def _told_when_slow(wiring: Wiring, output: Output, *, is_quiet: bool) -> AbstractContextManager[None]:
    """Cron mails whatever is said, so a quiet pass says nothing however long it takes."""
    return nullcontext() if is_quiet else told_when_slow(output, wiring.wall, "looking after what is due")


app = one_command(tick)
