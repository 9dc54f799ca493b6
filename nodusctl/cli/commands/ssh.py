"""``nodusctl ssh WORKSPACE [-- CMD]``: replaces this process by plain ssh with the pinned key."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.options import wiring_of
from nodusctl.cli.words import address_of


def ssh(
    context: typer.Context,
    *,
    workspace: Annotated[str, typer.Argument(metavar="WORKSPACE", help="A running Workspace: lab or workspace/lab.")],
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- CMD", help="What to run there; without it, a shell.", show_default=False)
    ] = None,
) -> ExitCode:
    """Log in to a running Workspace, or run one command there; its exit status becomes ours."""
    from nodusctl.engine.reaching import login_of, ssh_invocation
    from nodusctl.remote.keys import person_key

    wiring = wiring_of(context)
    data_folder = str(wiring.data_folder)
    _, key_path = person_key(data_folder)
    login = login_of(address_of(workspace), journal=wiring.journal, providers=wiring.providers, data_dir=data_folder, key_path=key_path)
    words = ssh_invocation(login, tuple(command or ()))
    wiring.close()
    os.execvp(words[0], words)


app = one_command(ssh)
