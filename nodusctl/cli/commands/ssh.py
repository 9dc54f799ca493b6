"""``nodusctl ssh WORKSPACE [-- CMD]``: replaces this process by plain ssh with the pinned key."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.logins import become, login_to
from nodusctl.cli.options import wiring_of
from nodusctl.cli.words import address_of


def ssh(
    context: typer.Context,
    *,
    workspace: Annotated[str, typer.Argument(metavar="WORKSPACE", help="lab or workspace/lab.")],
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- CMD", help="What to run there; without it, a shell.", show_default=False)
    ] = None,
) -> ExitCode:
    """Log in to a Workspace, or run one command there; its exit status becomes ours. A stopped one is started first."""
    from nodusctl.engine.reaching import ssh_invocation

    wiring = wiring_of(context)
    become(wiring, ssh_invocation(login_to(wiring, address_of(workspace)), tuple(command or ())))


app = one_command(ssh)
