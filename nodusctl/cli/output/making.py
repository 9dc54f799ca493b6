"""Which outputs a command has: text or JSON lines; beside it a file of JSON lines, reports, and what GitHub Actions shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from nodusctl.base.clock import Wall
from nodusctl.cli.output.colour import ColourChoice, wants_colour
from nodusctl.cli.output.protocol import Output
from nodusctl.cli.surroundings import Surroundings


def is_github_run(surroundings: Surroundings) -> bool:
    """True inside a run of GitHub Actions."""
    return surroundings.environment.get("GITHUB_ACTIONS") == "true"


def main_output(around: Surroundings, wall: Wall, colour: ColourChoice, *, is_json: bool) -> Output:
    """Where the command's words go."""
    if is_json:
        from nodusctl.cli.output.json_lines import JsonOutput

        return JsonOutput(around.stdout, wall, complaints=around.stderr, defused=_defused(around, is_json=True))
    from nodusctl.cli.output.text import TextOutput

    return TextOutput(
        around.stdout,
        around.stderr,
        wall,
        out_has_colour=wants_colour(colour, around.environment, is_terminal=around.stdout.isatty()),
        err_has_colour=wants_colour(colour, around.environment, is_terminal=around.stderr.isatty()),
        defused=_defused(around, is_json=False),
    )


def with_beside(main: Output, beside: Sequence[Output]) -> Output:
    """``main`` and what hears all it says."""
    if not beside:
        return main
    from nodusctl.cli.output.beside import Chorus

    return Chorus(main, beside)


def stream_beside(stream: TextIO, name: str, wall: Wall) -> Output:
    """``--json-into``: the lines ``--json`` would print, in a file."""
    from nodusctl.cli.output.json_lines import JsonOutput

    return JsonOutput(stream, wall, name=name)


def github_beside(around: Surroundings, path_of: Callable[[str], str]) -> Output:
    """Annotations and the summary page of a run of GitHub Actions."""
    from nodusctl.cli.output.github import GitHubOutput

    summary = around.environment.get("GITHUB_STEP_SUMMARY")
    return GitHubOutput(around.stderr, Path(summary) if summary else None, path_of)


def _defused(around: Surroundings, *, is_json: bool) -> Callable[[str], str]:
    if not is_github_run(around):
        return str
    from nodusctl.render.github_commands import harmless, harmless_json

    return harmless_json if is_json else harmless
