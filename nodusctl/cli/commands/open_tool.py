"""``nodusctl open WORKSPACE``: into VS Code or JupyterLab; a stopped Workspace is started first, because a person asks."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer

from nodusctl.base.diagnostics import Diagnostic, warning
from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.cli.app import one_command
from nodusctl.cli.commands.port_forward import forward_tool
from nodusctl.cli.logins import login_to
from nodusctl.cli.openers import find_opener, reveal, run_opener
from nodusctl.cli.options import wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.wiring import Wiring
from nodusctl.cli.words import address_of


class ToolChoice(StrEnum):
    """What ``--tool`` takes."""

    VSCODE = "vscode"
    JUPYTER = "jupyter"
    CODE_SERVER = "code-server"


_IN_BROWSER = {ToolChoice.JUPYTER: "Jupyter", ToolChoice.CODE_SERVER: "VSCode"}


def open_tool(
    context: typer.Context,
    *,
    workspace: Annotated[str, typer.Argument(metavar="WORKSPACE", help="lab or workspace/lab.")],
    tool: Annotated[
        ToolChoice, typer.Option("--tool", help="vscode: the desktop editor over ssh. jupyter, code-server: in the browser.")
    ] = ToolChoice.VSCODE,
    prints: Annotated[bool, typer.Option("--print", help="Only print the address. Of a browser tool it holds the token.")] = False,
) -> ExitCode:
    """Open a Workspace. A browser tool is carried to this computer until Ctrl-C; a stopped Workspace is started, its rate said first."""
    wiring, address = wiring_of(context), address_of(workspace)
    login_to(wiring, address)
    opener = "" if prints else find_opener(wiring)
    if tool is ToolChoice.VSCODE:
        return _desktop(wiring, address, opener)
    if prints:
        return _print_browser_tool(wiring, address, _IN_BROWSER[tool])
    return forward_tool(wiring, address, _IN_BROWSER[tool], opener=opener)


def _desktop(wiring: Wiring, address: Address, opener: str) -> ExitCode:
    from nodusctl.engine.inspect_connect import connect_of
    from nodusctl.engine.reaching import stored_workspace
    from nodusctl.engine.tool_reaching import not_served

    url = connect_of(stored_workspace(address, wiring.journal)).get("vscode", {}).get("url", "")
    if not url:
        raise not_served(address, "VSCode")
    output = wiring.output(is_json=False)
    output.diagnose(_of_its_entry(wiring, address))
    output.result("result", lambda style: url, lambda: {"url": url})
    if opener:
        run_opener(opener, url)
    return ExitCode.DONE


def _of_its_entry(wiring: Wiring, address: Address) -> Iterator[Diagnostic]:
    """What keeps the editor from finding this very Workspace by its name."""
    from nodusctl.remote.ssh_config import first_with, has_entry

    project, first = str(wiring.project.folder), first_with(wiring.ssh_folder, address.name)
    if not has_entry(wiring.ssh_folder, project, address.name):
        detail = f"The editor connects to the ssh host {address.name}, and there is no entry of this project for it."
        yield warning("Invalid", "The editor won't find the Workspace yet", detail, "nodusctl ssh-config --install")
    elif first != project:
        detail = f"The editor connects to the ssh host {address.name}, and the first entry of that name is of {first}."
        fix = "See what to do:\n  nodusctl ssh-config --install"
        yield warning("Invalid", "The editor would open another project's Workspace", detail, fix)


def _print_browser_tool(wiring: Wiring, address: Address, tool: str) -> ExitCode:
    from nodusctl.engine.tool_reaching import open_tool as find
    from nodusctl.remote.forwarding import takes_token

    with told_when_slow(wiring.output(is_json=False), wiring.wall, "asking the machine"):
        found = find(address, tool, journal=wiring.journal, reach=wiring.reach)
    reveal(wiring, found.url(found.port))
    if not takes_token(found.port, found.token):
        remark = f"This address is the machine's own. Carry it to this computer:\n  nodusctl port-forward {address.name} {tool.lower()}"
        wiring.output(is_json=False).remark(remark if tool == "Jupyter" else remark.replace("vscode", "code-server"))
    return ExitCode.DONE


app = one_command(open_tool)
