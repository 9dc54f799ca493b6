"""``nodusctl port-forward WORKSPACE [LOCAL:]REMOTE``: ssh -L with the pinned key."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.cli.app import one_command
from nodusctl.cli.forwarding import forward
from nodusctl.cli.logins import login_to
from nodusctl.cli.options import wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.wiring import Wiring
from nodusctl.cli.words import address_of, usage_error

_TOOLS = {"jupyter": "Jupyter", "code-server": "VSCode"}


def port_forward(
    context: typer.Context,
    *,
    workspace: Annotated[str, typer.Argument(metavar="WORKSPACE", help="lab or workspace/lab.")],
    port: Annotated[str, typer.Argument(metavar="[LOCAL:]REMOTE", help="A port of the Workspace, or a tool: jupyter, code-server.")],
) -> ExitCode:
    """Carry a port of a Workspace to this computer until Ctrl-C. Of a tool it prints the address that opens it, with its token."""
    local, _, remote = port.rpartition(":")
    local_port = _port(local) if local else 0
    tool = _TOOLS.get(remote.lower(), "")
    remote_port = 0 if tool else _port(remote)
    wiring, address = wiring_of(context), address_of(workspace)
    login = login_to(wiring, address)
    if tool:
        return forward_tool(wiring, address, tool, local_port)
    wiring.close()

    def say(port: int) -> None:
        wiring.output(is_json=False).result("result", lambda style: f"http://127.0.0.1:{port}/", lambda: {"port": port})

    return forward(login, remote_port, local_port, say)


def forward_tool(wiring: Wiring, address: Address, tool: str, local_port: int = 0, opener: str = "") -> ExitCode:
    """Carry a browser tool's port, print its address, and open it with ``opener`` where one is given."""
    from nodusctl.cli.logins import caller_of
    from nodusctl.cli.openers import reveal, run_opener
    from nodusctl.engine.reaching import login_of
    from nodusctl.engine.tool_reaching import open_tool

    with told_when_slow(wiring.output(is_json=False), wiring.wall, "asking the machine"):
        found = open_tool(address, tool, journal=wiring.journal, reach=wiring.reach)
    login = login_of(address, caller_of(wiring))
    wiring.close()

    def say(port: int) -> None:
        reveal(wiring, found.url(port))
        if tool != "Jupyter":
            reveal(wiring, f"password: {found.token}")
        if opener:
            run_opener(opener, found.url(port))

    return forward(login, found.port, local_port, say)


def _port(text: str) -> int:
    if not (text.isdigit() and 0 < int(text) < 65536):
        usage_error("That is no port", f"It says {text!r}.", "write a number from 1 to 65535, LOCAL:REMOTE, jupyter or code-server")
    return int(text)


app = one_command(port_forward)
