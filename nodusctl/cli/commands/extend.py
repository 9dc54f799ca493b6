"""``nodusctl extend WORKSPACE 2h``: today's session may run longer, inside its cap."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.apply_settings import apply_settings
from nodusctl.cli.carrying import report, working
from nodusctl.cli.options import JsonOption, LockTimeoutOption, TimeoutOption, wiring_of
from nodusctl.cli.words import address_of, duration_of, usage_error


def extend(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="WORKSPACE", help="lab or workspace/lab.")],
    by: Annotated[str, typer.Argument(metavar="D", help="How much longer, such as 2h or 45m.")],
    timeout: TimeoutOption = "",
    lock_timeout: LockTimeoutOption = "",
    is_json: JsonOption = False,
) -> ExitCode:
    """Let the session that runs go on past the end of its window or its stopAt, inside its cap and its Budgets; today's only."""
    from nodusctl.engine.extending import extend as lengthen
    from nodusctl.render.extensions import extension_document, extension_text

    wiring, span = wiring_of(context), duration_of("D", by)
    if span <= timedelta(0):
        usage_error("An extension is longer than nothing", f"It says {by!r}.", "write 2h or 45m; to end a session sooner: nodusctl stop")
    output = wiring.output(is_json=is_json)
    settings = apply_settings(wiring, timeout=timeout, lock_timeout=lock_timeout)
    with working(wiring, output) as work:
        done = lengthen(address_of(name), span, outside=work.outside, command=wiring.command, settings=settings, interrupts=work.interrupts)
    code = report(done.result, work, output)
    output.result("result", lambda style: extension_text(done), lambda: extension_document(done))
    return code


app = one_command(extend)
