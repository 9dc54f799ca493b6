"""``nodusctl cp SRC… DST``: scp with the pinned key; the Workspace's side is written ``lab:path``."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.logins import become, login_to
from nodusctl.cli.options import wiring_of
from nodusctl.cli.words import address_of, usage_error

_REMOTE = re.compile(r"((?:workspace/)?[a-z0-9][a-z0-9-]*):(.*)\Z", re.DOTALL)


def cp(
    context: typer.Context,
    *,
    paths: Annotated[list[str], typer.Argument(metavar="SRC... DST", help="One side is WORKSPACE:PATH; a relative PATH is in the home.")],
) -> ExitCode:
    """Copy files and folders to or from a Workspace. Write ./a:b for a local name with a colon."""
    from nodusctl.engine.reaching import copy_invocation

    if len(paths) < 2:
        usage_error("Say what to copy, and where to", fix="nodusctl cp notes.txt lab:")
    *sources, target = paths
    remote_sources, remote_target = [_REMOTE.match(path) for path in sources], _REMOTE.match(target)
    remote = {found[1] for found in (*remote_sources, remote_target) if found}
    is_one_sided = all(remote_sources) != bool(remote_target) and any(remote_sources) == all(remote_sources)
    if not is_one_sided or len(remote) != 1:
        usage_error("One side is a Workspace's, the other this computer's", fix="nodusctl cp notes.txt lab:\nnodusctl cp lab:model.pt .")
    wiring = wiring_of(context)
    login = login_to(wiring, address_of(remote.pop()), program="scp")
    there = [found[2] for found in remote_sources if found]
    local_target, local_sources = target, sources
    if remote_target:
        become(wiring, copy_invocation(login, local_sources, remote_target[2], goes_up=True))
    become(wiring, copy_invocation(login, there, local_target, goes_up=False))


app = one_command(cp)
