"""``nodusctl tools install code-server``: what machines on this computer can serve beyond what is there already."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from enum import StrEnum
from typing import Annotated

import typer

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.cli.app import family
from nodusctl.cli.options import wiring_of
from nodusctl.cli.output.slow import told_when_slow

app = family("Tools that machines on this computer can serve.")


class Installable(StrEnum):
    """What can be installed."""

    CODE_SERVER = "code-server"


@app.callback()
def _tools() -> None:
    """Tools that machines on this computer can serve."""


@app.command("install")
def install(
    context: typer.Context,
    *,
    tool: Annotated[Installable, typer.Argument(metavar="TOOL", help="code-server: VS Code in the browser.")],
    prints: Annotated[bool, typer.Option("--print", help="Only print what would be run.")] = False,
) -> ExitCode:
    """Install a tool from npm under your data folder, for machines started from then on. It builds native parts: some minutes."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=False)
    path = wiring.surroundings.environment.get("PATH", "")
    folder = wiring.data_folder / tool.value
    words = ["npm", "install", "--global", "--prefix", str(folder), "--no-fund", "--no-audit", tool.value]
    if prints:
        output.result("result", lambda style: shlex.join(words), lambda: {"command": words})
        return ExitCode.DONE
    npm = shutil.which("npm", path=path)
    if npm is None:
        fix = "Install Node.js with npm, or code-server itself so that it is on PATH:\n  https://coder.com/docs/code-server/install"
        raise UserError(error("ProviderNotReady", "npm is not installed.", f"{tool.value} is installed from npm.", fix))
    output.remark(f"Running {shlex.join(words)}")
    with told_when_slow(output, wiring.wall, f"npm installs {tool.value}"):
        status = subprocess.run([npm, *words[1:]], check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode
    program = folder / "bin" / tool.value
    if status or not program.exists():
        detail = (
            f"npm ended with status {status}; what it said stands above. It needs the Node.js that its makers ask for, a compiler and make."
        )
        raise UserError(error("ProviderNotReady", f"{tool.value} could not be installed.", detail, "See what it needs:\n  node --version"))
    output.result("result", lambda style: f"{tool.value} is {program}", lambda: {"program": str(program)})
    return ExitCode.DONE
