"""The options that may stand before or after the command: taken out of the words before Typer sees them.

``--json`` is only noticed, not taken: commands declare it themselves, but even a usage error must then come as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError

_TAKEN = ("--chdir", "--color", "--json-into")


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalOptions:
    """What was said, empty where nothing was. ``rest`` is what Typer parses."""

    chdir: str = ""
    colour: str = ""
    json_into: str = ""
    rest: tuple[str, ...] = ()


def mentions_json(words: Sequence[str]) -> bool:
    """True if ``--json`` stands before a ``--``."""
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def split(words: Sequence[str]) -> GlobalOptions:
    """Take the global options out; UserError (64) for a missing or wrong value. After ``--`` nothing is touched."""
    taken: dict[str, str] = {}
    rest: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            rest += [word, *queue]
            break
        if name not in _TAKEN:
            rest.append(word)
        elif equals:
            taken[name] = value
        elif queue:
            taken[name] = queue.pop(0)
        else:
            raise _usage(f"{name} needs a value")
    return GlobalOptions(
        chdir=taken.get("--chdir", ""), colour=_colour(taken.get("--color")), json_into=taken.get("--json-into", ""), rest=tuple(rest)
    )


def options_of_half_a_line(words: Sequence[str]) -> GlobalOptions:
    """For completion: the project's folder if it was said, nothing taken out, and no fault whatever is missing."""
    # The last word is the one being typed, so it says nothing yet.
    whole = words[:-1]
    found = [after for word, after in pairwise(whole) if word == "--chdir"]
    found += [word.partition("=")[2] for word in whole if word.startswith("--chdir=")]
    return GlobalOptions(chdir=found[0] if found else "", rest=tuple(words))


def _colour(text: str | None) -> str:
    if text is not None and text not in {"auto", "always", "never"}:
        raise _usage("--color is auto, always or never")
    return text or ""


def _usage(summary: str) -> UserError:
    return UserError(error("Usage", summary, fix="nodusctl --help lists every option"), exit_code=ExitCode.USAGE)
