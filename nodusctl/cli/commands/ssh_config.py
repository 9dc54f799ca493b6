"""``nodusctl ssh-config [--install]``: entries that let plain ssh, scp, rsync and editors reach the project's Workspaces."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nodusctl.base.diagnostics import Diagnostic, error, warning
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.cli.app import one_command
from nodusctl.cli.options import wiring_of
from nodusctl.cli.wiring import Wiring
from nodusctl.render.counting import counted

if TYPE_CHECKING:
    from nodusctl.remote.ssh_config import Installed


def ssh_config(
    context: typer.Context,
    *,
    installs: Annotated[
        bool, typer.Option("--install", help="Write them to ~/.ssh/config.d/nodusctl and include that file at the top of ~/.ssh/config.")
    ] = False,
) -> ExitCode:
    """Print an ssh-config entry for each Workspace, or install them; then `ssh lab`, `scp` and `rsync` work from any shell."""
    from nodusctl.cli.logins import caller_of
    from nodusctl.engine.ssh_entries import entries_of
    from nodusctl.remote.ssh_config import entry_text, first_with, install, section_text

    wiring = wiring_of(context)
    output = wiring.output(is_json=False)
    entries = entries_of(caller_of(wiring), _proxy_words(wiring))
    if not installs:
        output.result("result", lambda style: "\n".join(entry_text(one) for one in entries).rstrip(), lambda: {})
        return ExitCode.DONE
    project = str(wiring.project.folder)
    try:
        installed = install(wiring.ssh_folder, project, section_text(project, entries))
    except OSError as failure:
        raise UserError(error("Forbidden", "The ssh configuration can't be written.", f"{failure.filename}: {failure.strerror}.")) from None
    names = [entry.name for entry in entries]
    output.result("result", lambda style: _said(installed, names), lambda: {"file": str(installed.entries), "hosts": names})
    if not wiring.ssh_reads_its_folder:
        detail = f"ssh reads the one of your account, whatever HOME says; this one is {installed.config}."
        output.diagnose([warning("Invalid", "ssh won't find this configuration by itself", detail, f"ssh -F {installed.config} HOST")])
    firsts = {name: first_with(wiring.ssh_folder, name) for name in names}
    output.diagnose(_taken(name, first, installed) for name, first in firsts.items() if first != project)
    return ExitCode.DONE


def _taken(name: str, first: str, installed: Installed) -> Diagnostic:
    detail = f"`ssh {name}` reaches that of {first}, the first entry in {installed.entries}; `nodusctl ssh {name}` reaches this one."
    fix = f"Take the section of a project you no longer use out of that file, or rename this Workspace:\n  nodusctl state mv {name} NEW"
    return warning("Invalid", "Another project has a Workspace of this name", detail, fix, address=f"workspace/{name}")


def _proxy_words(wiring: Wiring) -> tuple[str, ...]:
    """How ssh calls us from any folder and shell: by absolute paths."""
    script = Path(sys.executable).parent / "nodusctl"
    # -P: a folder that ssh happens to be called in must not lend us its modules.
    program = (str(script),) if script.exists() else (sys.executable, "-P", "-m", "nodusctl")
    return (*program, "--chdir", str(wiring.project.folder), "ssh-proxy")


def _said(installed: Installed, names: list[str]) -> str:
    lines = [f"{counted(len(names), 'host')} in {installed.entries}: {', '.join(names) or 'none yet; run this again after an apply'}"]
    if installed.backup:
        lines.append(f"{installed.config} includes it now; what it was is {installed.backup}")
    return "\n".join(lines)


app = one_command(ssh_config)
