"""The process's edge: words to a command, whatever ends it to an exit code. Every exit code of a failure is chosen here.

The surprise: ``version`` and ``--help`` are answered before Typer is loaded. Typer reads option values through pydantic, which costs
more than all the rest of those commands.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from nodusctl.base.diagnostics import error, warning
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.plugin_faults import PLUGIN_FAULTS
from nodusctl.cli.global_options import GlobalOptions, mentions_json, options_of_half_a_line, split
from nodusctl.cli.output.colour import ColourChoice
from nodusctl.cli.output.protocol import Output
from nodusctl.cli.surroundings import Surroundings
from nodusctl.cli.wiring import Wiring, read_surroundings

if TYPE_CHECKING:
    from typer import TyperException


COMPLETE = "__complete"
"""What completion scripts call: candidates for the word being typed, without Typer and without a provider."""
_USUAL = {"nodusctl get": "nodusctl get workspaces,volumes"}
"""What most people mean by a command that lacks its argument."""
_WITHOUT_TYPER = frozenset({(), ("-h",), ("--help",), ("version",), ("--version",)})


class Terminated(BaseException):
    """SIGTERM arrived. Like KeyboardInterrupt, no ``except Exception`` may swallow it."""


def main() -> NoReturn:
    """Run the command line of this process and end it."""
    signal.signal(signal.SIGTERM, _on_term)
    code = run(read_surroundings())
    _forget_lost_words()
    sys.exit(int(code))


def _forget_lost_words() -> None:
    """Words kept for a reader who has gone: written once more at the end of the process, they would change its exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def run(surroundings: Surroundings) -> ExitCode:
    """Run one command; every exception ends here. Prints through the command's own output, and says the code last."""
    words = surroundings.arguments
    PLUGIN_FAULTS.take()
    wiring = Wiring(surroundings)
    try:
        options = split(words) if words[:1] != (COMPLETE,) else options_of_half_a_line(words)
        wiring = _wired(surroundings, options)
        code = _dispatch(wiring, options.rest)
    except BaseException as ending:
        output = wiring.output(is_json=mentions_json(words))
        code = _code_of(ending, output, wiring)
    output = wiring.output(is_json=mentions_json(words))
    _tell_plugin_faults(output, wiring)
    code = output.finish(code)
    wiring.close()
    return code


def _wired(surroundings: Surroundings, options: GlobalOptions) -> Wiring:
    wiring = Wiring(surroundings)
    if options.rest not in _WITHOUT_TYPER:
        from nodusctl.cli.settings_files import person_settings

        settings = person_settings(surroundings, options)
        wiring = Wiring(surroundings, chdir=settings.text("chdir"), colour=ColourChoice(settings.text("color")), settings=settings)
    if options.json_into:
        _stream_into(wiring, options.json_into)
    return wiring


def _stream_into(wiring: Wiring, path: str) -> None:
    try:
        wiring.stream_into(wiring.start / path)
    except OSError as fault:
        detail = f"{path}: {fault.strerror}."
        raise UserError(
            error("Usage", "--json-into can't be written", detail, "Name a file you may write."), exit_code=ExitCode.USAGE
        ) from None


def _dispatch(wiring: Wiring, words: Sequence[str]) -> ExitCode:
    if tuple(words) in _WITHOUT_TYPER:
        return _at_once(wiring.output(is_json=False), words)
    if words[0] == COMPLETE:
        from nodusctl.cli.completing import say_candidates

        return say_candidates(words[1:], wiring)
    import typer.main

    from nodusctl.cli.app import application

    root = typer.main.get_command(application)
    outcome = root.main(args=list(words), prog_name="nodusctl", standalone_mode=False, obj=wiring)
    return ExitCode(outcome) if isinstance(outcome, int) else ExitCode.DONE


def _at_once(output: Output, words: Sequence[str]) -> ExitCode:
    if "version" in "".join(words):
        from nodusctl.cli.commands.version_line import say_version

        return say_version(output)
    from nodusctl.cli.root_help import root_help

    output.result("result", lambda style: root_help(), lambda: {"help": root_help()})
    return ExitCode.DONE if words else ExitCode.USAGE


def _code_of(ending: BaseException, output: Output, wiring: Wiring) -> ExitCode:
    if isinstance(ending, UserError):
        output.diagnose(ending.diagnostics)
        return ending.exit_code
    if isinstance(ending, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    if isinstance(ending, Terminated):
        return ExitCode.TERMINATED
    from typer import Abort, TyperException

    if isinstance(ending, Abort):
        return ExitCode.INTERRUPTED
    if isinstance(ending, TyperException):
        return _usage(ending, output)
    return _bug(ending, output, wiring)


def _usage(ending: TyperException, output: Output) -> ExitCode:
    context = getattr(ending, "ctx", None)
    command = context.command_path if context is not None else "nodusctl"
    summary = ending.format_message().strip()
    fix = _USUAL.get(command, "") if summary.startswith("Missing argument") else ""
    output.diagnose([error("Usage", summary, fix=fix or f"see the options and examples:\n  {command} --help")])
    return ExitCode.USAGE


def _tell_plugin_faults(output: Output, wiring: Wiring) -> None:
    """A plugin that raised cost only its own answers; what it raised is for its author."""
    faults = PLUGIN_FAULTS.take()
    if not faults:
        return
    from nodusctl.cli.crash_report import write_report

    path = write_report(faults, folder=wiring.crash_folder, moment=wiring.wall.now(), words=wiring.surroundings.arguments)
    last = faults[0].strip().splitlines()[-1]
    detail = f"{last}\nThe report is in {path}" if path else f"{last}\nNo report could be written"
    fix = "send the report to the plugin's author; no lock is held and the state is as it was stored last:\nnodusctl doctor"
    output.diagnose([warning("PluginCrashed", "A provider plugin raised an error of its own", detail, fix)])


def _bug(ending: BaseException, output: Output, wiring: Wiring) -> ExitCode:
    from nodusctl.cli.crash_report import write_crash_report

    path = write_crash_report(ending, folder=wiring.crash_folder, moment=wiring.wall.now(), words=wiring.surroundings.arguments)
    detail = f"{type(ending).__name__}. The report is in {path}" if path else f"{type(ending).__name__}. No report could be written"
    fix = "run the same command again: state is saved after every step, and whatever was in flight is settled first"
    output.diagnose([error("Bug", "this is a bug in nodusctl", detail, fix)])
    return ExitCode.BUG


def _on_term(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated
