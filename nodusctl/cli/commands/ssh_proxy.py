"""``nodusctl ssh-proxy HOST``: the ProxyCommand of our ssh-config entries. Nothing but the connection's own bytes goes to stdout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.cli.app import one_command
from nodusctl.cli.logins import bring_up, caller_of
from nodusctl.cli.options import wiring_of
from nodusctl.cli.wiring import Wiring


def ssh_proxy(
    context: typer.Context,
    *,
    host: Annotated[str, typer.Argument(metavar="HOST", help="The entry's name: lab or nodus-lab.")],
) -> ExitCode:
    """Carry ssh's bytes to a Workspace. One that has been stopped for 30 minutes is started, unless money or its stopAt stopped it."""
    from nodusctl.engine.reaching import login_of
    from nodusctl.remote.jumping import carrying_command
    from nodusctl.remote.relay import carry, carry_through

    wiring = wiring_of(context)
    caller = caller_of(wiring)
    address = _workspace(wiring, host)
    trace = _make_ready(wiring, address)
    login = login_of(address, caller)
    endpoint = login.endpoint
    wiring.close()
    try:
        if endpoint.jump is None:
            carry(endpoint.host, endpoint.port, trace)
        else:
            carry_through(carrying_command(endpoint, login.jump_known_hosts), trace)
    except OSError as failure:
        why = f"{address} at {endpoint.host} port {endpoint.port}: {failure.strerror or failure}."
        fix = f"See what is known of its machine:\n  nodusctl describe {address}"
        raise UserError(error("NodeUnreachable", "The machine can't be reached.", why, fix)) from None
    return ExitCode.DONE


def _workspace(wiring: Wiring, host: str) -> Address:
    """A Workspace of that very name wins over one that the prefix is taken from."""
    plain, short = Address("workspace", host), Address("workspace", host.removeprefix("nodus-"))
    return plain if wiring.journal.snapshot().get(plain) is not None else short


def _make_ready(wiring: Wiring, address: Address) -> Path:
    """Wait, wake or refuse to; where the trace of its connections lies."""
    from nodusctl.engine.reaching import alias_of, stored_workspace
    from nodusctl.engine.waking import Lack, lack_of, wake_words, why_no_wake
    from nodusctl.remote.relay import last_open

    stored = stored_workspace(address, wiring.journal)
    trace = wiring.data_folder / "ssh" / "open.d" / alias_of(stored)
    _refuse_old_entry(wiring, address, alias_of(stored))
    lack = lack_of(stored)
    if lack is Lack.WAKE:
        why = why_no_wake(stored, last_open(trace), wiring.clock.now())
        if why:
            fix = f"Start it yourself:\n  nodusctl start {address.name}"
            raise UserError(error("WorkspaceStarting", "The Workspace is stopped.", f"{address}: {why}.", fix, address=str(address)))
        wiring.output(is_json=False).remark(wake_words(stored))
    if lack is not Lack.NOTHING:
        bring_up(wiring, address, lack, is_connection=True)
    return trace


def _refuse_old_entry(wiring: Wiring, address: Address, alias: str) -> None:
    """By an entry of an earlier Workspace of this name ssh would cry of a changed host key; nothing is started for that."""
    from nodusctl.remote.ssh_config import pinned_alias

    pinned = pinned_alias(wiring.ssh_folder, str(wiring.project.folder), address.name)
    if pinned not in ("", alias):
        detail = f"{address} was made anew since, with a host key of its own."
        fix = f"In {wiring.project.folder}:\n  nodusctl ssh-config --install"
        raise UserError(error("Invalid", "The ssh entry is of an earlier Workspace of this name.", detail, fix, address=str(address)))


app = one_command(ssh_proxy)
