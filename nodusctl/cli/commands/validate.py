"""``nodusctl validate [PATH…]``."""

from __future__ import annotations

from typing import Annotated

import typer

from nodusctl.base.exits import ExitCode
from nodusctl.cli.app import one_command
from nodusctl.cli.options import FilesOption, JsonOption, JUnitOption, PathsArgument, SarifOption, wiring_of
from nodusctl.cli.output.protocol import Aside
from nodusctl.cli.output.slow import told_when_slow
from nodusctl.engine.validate import Validation
from nodusctl.engine.validate import validate as check
from nodusctl.render.counting import counted


def validate(
    context: typer.Context,
    *,
    paths: PathsArgument = None,
    files: FilesOption = None,
    skips_clock: Annotated[bool, typer.Option("--no-clock", help="Skip the rules that compare a time with now.")] = False,
    is_json: JsonOption = False,
    junit: JUnitOption = "",
    sarif: SarifOption = "",
) -> ExitCode:
    """Read and check specs, offline: every fault of every file at once, each with its place and its fix."""
    wiring = wiring_of(context)
    wiring.report("validate", junit=junit, sarif=sarif)
    wiring.select([*(paths or ()), *(files or ())])
    output = wiring.output(is_json=is_json)
    project = wiring.project
    with told_when_slow(output, wiring.wall, "reading and checking the specs"):
        found = check(
            root=project.folder,
            project=project.file,
            paths=project.paths,
            snapshot=wiring.journal.snapshot() if wiring.journal.exists() else None,
            clock_now=None if skips_clock else wiring.clock.now(),
        )
    output.diagnose(found.diagnostics)
    output.result(
        "result",
        lambda style: _summary(found),
        lambda: {"valid": found.is_valid, "files": found.files, "objects": dict(found.counts)},
        Aside(markdown=lambda: f"**nodusctl validate.** {_summary(found)}", files=lambda: found.names),
    )
    return ExitCode.DONE if found.is_valid else ExitCode.ERROR


def _summary(found: Validation) -> str:
    objects = ", ".join(counted(count, kind) for kind, count in sorted(found.counts.items()))
    if not found.is_valid:
        return f"Not valid: {counted(sum(1 for one in found.diagnostics if one.is_error), 'error')}."
    return f"Valid: {objects} in {counted(found.files, 'file')}."


app = one_command(validate)
