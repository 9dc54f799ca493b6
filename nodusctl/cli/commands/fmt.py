"""``nodusctl fmt [PATH…]``: specs in canonical form, comments kept."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.diagnostics import error, has_errors
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.cli.app import one_command
from nodusctl.cli.options import FilesOption, JsonOption, PathsArgument, wiring_of
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.engine.formatting import Formatting, formatting_of, write_formatted
from nodusctl.render.counting import counted


def fmt(
    context: typer.Context,
    *,
    paths: PathsArgument = None,
    files: FilesOption = None,
    only_checks: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 where a file is not in canonical form.")] = False,
    is_json: JsonOption = False,
) -> ExitCode:
    """Rewrite specs in canonical form: layout only, never a value, never a comment."""
    wiring = wiring_of(context)
    wiring.select([*(paths or ()), *(files or ())])
    output = wiring.output(is_json=is_json)
    project = wiring.project
    with told_when_slow(output, wiring.wall, "reading and formatting the specs"):
        found = formatting_of(root=project.folder, project=project.file, paths=project.paths)
    output.diagnose(found.diagnostics)
    if not only_checks:
        try:
            write_formatted(found)
        except OSError as fault:
            raise UserError(error("Invalid", "A file can't be written", f"{fault.filename}: {fault.strerror}.")) from None
    output.result(
        "result",
        lambda style: _words(found, only_checks=only_checks),
        lambda: {"files": len(found.files), "changed": [one.path for one in found.changed], "written": not only_checks},
    )
    is_wrong = has_errors(found.diagnostics) or (only_checks and bool(found.changed))
    return ExitCode.ERROR if is_wrong else ExitCode.DONE


def _words(found: Formatting, *, only_checks: bool) -> str:
    names = [one.path for one in found.changed]
    whole = counted(len(found.files), "file")
    if not names:
        return f"Nothing to format in {whole}."
    verb = "would be formatted" if only_checks else "formatted"
    return "\n".join([*names, f"{len(names)} of {whole} {verb}."])


app = one_command(fmt)
