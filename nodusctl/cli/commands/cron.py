"""``nodusctl cron install|show|remove``: have cron (or systemd) tick this project at intervals."""

from __future__ import annotations

import os
import pwd
import socket
import sys
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from nodusctl.base.durations import format_duration
from nodusctl.base.exits import ExitCode
from nodusctl.base.redaction import looks_secret
from nodusctl.cli.app import PlainCommand, family
from nodusctl.cli.options import JsonOption, wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.cli.ticker_warning import say_no_ticker
from nodusctl.cli.wiring import Wiring
from nodusctl.cli.words import duration_of, usage_error
from nodusctl.engine import cron_setup
from nodusctl.engine.cron_command import TickCommand, can_be_said, nearest_every
from nodusctl.engine.cron_programs import CrontabProgram, SystemdUser
from nodusctl.engine.cron_trial import Account
from nodusctl.render.tickers import installed_text, removed_text, report_document, report_text, tickers_document

app = family("Tick this project at intervals: set it up, look at it, take it away.")
_FOLDERS = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "NODUSCTL_STATE_KEY_FILE")
"""Variables that say where a person's things are; they come along where they are set."""


@app.callback()
def _cron() -> None:
    """Tick this project at intervals: set it up, look at it, take it away."""


@app.command("install", cls=PlainCommand)
def install(
    context: typer.Context,
    *,
    every: Annotated[str, typer.Option("--every", metavar="D", help="1m to 60m, as far as it divides an hour.")] = "5m",
    wants_systemd: Annotated[bool, typer.Option("--systemd", help="A systemd user timer, even where a cron daemon runs.")] = False,
    wants_crontab: Annotated[bool, typer.Option("--crontab", help="Your crontab, even where no cron daemon is seen.")] = False,
    keeps: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="NAME", help="Also set this variable for it, such as PATH; repeatable.", show_default=False),
    ] = None,
    is_json: JsonOption = False,
) -> ExitCode:
    """Tick once in an environment as empty as cron's; where that works, write your crontab's line (or a systemd user timer)."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    interval = _interval(every)
    if wants_systemd and wants_crontab:
        usage_error("--systemd and --crontab are two answers to one question", fix="give one of them, or none")
    kind = "systemd" if wants_systemd else "crontab" if wants_crontab else ""
    wish = cron_setup.Wish(command=_command(wiring, keeps or ()), every=interval, kind=kind)
    with told_when_slow(output, wiring.wall, "trying a tick in an empty environment"):
        report = cron_setup.install(wish, _places(wiring), _around(wiring))
    output.result("result", lambda style: installed_text(report, style), lambda: report_document(report))
    output.diagnose(report.doubts)
    return ExitCode.DONE


@app.command("show", cls=PlainCommand)
def show(context: typer.Context, *, is_json: JsonOption = False) -> ExitCode:
    """What is installed for this project, when the last ticks were, and whether they were good."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    project = wiring.project
    report = cron_setup.look(project.folder, _places(wiring), project.state_folder, wiring.reading.passes)
    output.result("result", lambda style: report_text(report, style), lambda: report_document(report))
    output.diagnose(report.doubts)
    say_no_ticker(wiring, output)
    return ExitCode.DONE


@app.command("remove", cls=PlainCommand)
def remove(context: typer.Context, *, is_json: JsonOption = False) -> ExitCode:
    """Take this project's line out of your crontab, or its timer away; everything else there stays byte for byte."""
    wiring = wiring_of(context)
    output = wiring.output(is_json=is_json)
    removed = cron_setup.remove(wiring.project.folder, _places(wiring), wiring.project.state_folder)
    output.result("result", lambda style: removed_text(removed, style), lambda: {"removed": tickers_document(removed)})
    return ExitCode.DONE


def _interval(text: str) -> timedelta:
    every = duration_of("--every", text)
    if not can_be_said(every):
        near = format_duration(nearest_every(every))
        detail = f"It says {text}; a crontab counts whole minutes that divide an hour, from 1m to 60m."
        usage_error("--every can't be kept", detail, f"nodusctl cron install --every {near}")
    return every


def _command(wiring: Wiring, keeps: Iterable[str]) -> TickCommand:
    environment = wiring.surroundings.environment
    names = [name for name in _FOLDERS if environment.get(name)]
    if environment.get("HOME", "") not in ("", _account().home):
        names.append("HOME")
    for name in keeps:
        if name not in environment:
            usage_error("A variable to keep is not set", f"It says {name}.", f"export {name}=…")
        if name == "NODUSCTL_STATE_KEY" or looks_secret(name, environment[name]):
            usage_error("A crontab is no place for a secret", f"{name} looks like one.", "keep it in the file that its reader knows")
        names.append(name)
    variables = {name: environment[name] for name in names}
    if "NODUSCTL_STATE_KEY_FILE" in variables:
        variables["NODUSCTL_STATE_KEY_FILE"] = str(wiring.key_file.absolute())
    return TickCommand(program=_program(), folder=wiring.project.folder, variables=variables)


def _program() -> tuple[str, ...]:
    """The script beside this interpreter, as a person would call it; else the interpreter with the package."""
    script = Path(sys.executable).with_name("nodusctl")
    return (str(script),) if os.access(script, os.X_OK) else (sys.executable, "-P", "-m", "nodusctl")


def _account() -> Account:
    known = pwd.getpwuid(os.getuid())
    return Account(name=known.pw_name, home=known.pw_dir)


def _places(wiring: Wiring) -> cron_setup.Places:
    environment = wiring.surroundings.environment
    home = Path(environment.get("HOME") or _account().home)
    return cron_setup.Places(crontab=CrontabProgram(environment), systemd=SystemdUser(environment, home))


def _around(wiring: Wiring) -> cron_setup.Around:
    return cron_setup.Around(
        account=_account(),
        environment=wiring.surroundings.environment,
        state_folder=wiring.project.state_folder,
        key_file=wiring.key_file,
        now=wiring.clock.now(),
        host=socket.gethostname(),
    )
