"""``nodusctl refresh-secrets WORKSPACE``: the latest versions of its Secrets into the session that runs."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.carrying import report, working
from nodusctl.cli.options import JsonOption, LockTimeoutOption, TimeoutOption, wiring_of
from nodusctl.cli.words import address_of, duration_of
from nodusctl.engine.applying import ApplySettings
from nodusctl.engine.verbs import refresh_secrets as refresh


def refresh_secrets(
    context: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="WORKSPACE", help="lab or workspace/lab; it runs.")],
    timeout: TimeoutOption = "30m",
    lock_timeout: LockTimeoutOption = "0s",
    is_json: JsonOption = False,
) -> ExitCode:
    """Push the latest version of each Secret that isn't pinned by its mount; files change at once, variables for new processes."""
    settings = ApplySettings(timeout=duration_of("--timeout", timeout), lock_timeout=duration_of("--lock-timeout", lock_timeout))
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    with working(wiring, output) as work:
        result = refresh(address_of(name), outside=work.outside, command=wiring.command, settings=settings, interrupts=work.interrupts)
    return report(result, work, output)


app = one_command(refresh_secrets)
