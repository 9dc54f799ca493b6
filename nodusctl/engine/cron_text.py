"""The text of a crontab with our lines in it: found by their marks, put in and taken out, everything else byte for byte as it was.

The text is bytes decoded with ``surrogateescape``: a person's comments may be in any encoding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_ASSIGNMENT = re.compile(r"\s*(?P<name>\"[^\"]*\"|'[^']*'|[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*?)\s*\Z")


def _begin(folder: Path) -> str:
    return f"# >>> nodusctl tick {folder} (nodusctl cron install wrote these lines)\n"


def _end(folder: Path) -> str:
    return f"# <<< nodusctl tick {folder}\n"


def entry_of(text: str, folder: Path) -> str:
    """The line of this project; empty where there is none."""
    lines = _lines(text)
    return next((lines[at + 1].rstrip("\n") for at in _places(lines, folder)), "")


def without_entry(text: str, folder: Path) -> str:
    """The text without this project's lines."""
    lines = _lines(text)
    ours = {at + offset for at in _places(lines, folder) for offset in range(3)}
    return "".join(line for at, line in enumerate(lines) if at not in ours)


def with_entry(text: str, folder: Path, line: str) -> str:
    """The text with this project's line: where it stood, else at the end."""
    block = [_begin(folder), f"{line}\n", _end(folder)]
    lines = _lines(text)
    places = list(_places(lines, folder))
    if places:
        kept = _lines(without_entry("".join(lines[places[0] + 3 :]), folder))
        return "".join([*lines[: places[0]], *block, *kept])
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return "".join([*lines, *block])


def assignments(text: str, folder: Path) -> dict[str, str]:
    """Variables that the crontab sets above this project's line, or anywhere where it has none yet: cron sets them for it too."""
    lines = _lines(text)
    ours = next(_places(lines, folder), len(lines))
    found = {}
    for line in lines[:ours]:
        match = _ASSIGNMENT.match(line)
        if match is not None:
            found[_bare(match["name"])] = _bare(match["value"])
    return found


def _places(lines: list[str], folder: Path) -> Iterator[int]:
    """Where our three lines begin. A mark whose end was edited away is a comment like any other."""
    begin, end = _begin(folder), _end(folder)
    for at, line in enumerate(lines):
        if line == begin and lines[at + 2 : at + 3] in ([end], [end.rstrip("\n")]):
            yield at


def _lines(text: str) -> list[str]:
    """Lines with their ends; only a newline ends one."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def _bare(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'" else text
