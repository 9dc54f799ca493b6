"""Which files a project's specs are: globs below the project, without what is hidden and what settings name.

Folders are walked in sorted order and symbolic links to folders are not followed, so the same tree gives the same list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.documents.faults import MAX_BYTES, too_large, unreadable

DEFAULT_GLOBS = ("**/*.yaml", "**/*.yml")
PROJECT_FILE = "nodusctl.yaml"


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """Files as (path relative to the root where it lies below it, bytes), and what couldn't be read."""

    files: tuple[tuple[str, bytes], ...]
    diagnostics: tuple[Diagnostic, ...]


def discover(root: Path, globs: Sequence[str] = DEFAULT_GLOBS, exclude: frozenset[Path] = frozenset()) -> tuple[Path, ...]:
    """The files below ``root`` that a glob matches, sorted; hidden files and folders, nodusctl.yaml and ``exclude`` are left out."""
    patterns = [re.compile(_regex_of(glob)) for glob in globs]
    excluded = {path.resolve() for path in exclude}
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            path = Path(folder, name)
            if name.startswith(".") or name == PROJECT_FILE:
                continue
            relative = path.relative_to(root).as_posix()
            if any(pattern.match(relative) for pattern in patterns) and path.resolve() not in excluded:
                found.append(path)
    return tuple(sorted(found))


def among(names: Iterable[str], globs: Sequence[str] = DEFAULT_GLOBS) -> tuple[str, ...]:
    """Which of these names, relative to the project, ``discover`` would find if they were files below it."""
    patterns = [re.compile(_regex_of(glob)) for glob in globs]
    return tuple(name for name in names if _is_seen(name) and any(pattern.match(name) for pattern in patterns))


def _is_seen(name: str) -> bool:
    parts = name.split("/")
    return not any(part.startswith(".") for part in parts) and parts[-1] != PROJECT_FILE


def read_files(root: Path, paths: Iterable[Path]) -> ReadFiles:
    """Read ``paths``; a file that can't be read or is too large is a diagnostic."""
    files: list[tuple[str, bytes]] = []
    faults: list[Diagnostic] = []
    for path in paths:
        shown = shown_path(root, path)
        try:
            size = path.stat().st_size
            if size > MAX_BYTES:
                faults.append(too_large(shown, size))
            else:
                files.append((shown, path.read_bytes()))
        except OSError as problem:
            faults.append(unreadable(shown, problem.strerror or "The system refused."))
    return ReadFiles(tuple(files), tuple(faults))


def shown_path(root: Path, path: Path) -> str:
    """``path`` for people: relative to ``root`` where it lies below it."""
    resolved, base = path.resolve(), root.resolve()
    return resolved.relative_to(base).as_posix() if resolved.is_relative_to(base) else str(path)


def _regex_of(glob: str) -> str:
    """A glob as a regular expression: ``**/`` any folders, ``*`` and ``?`` within a name, ``[…]`` a class."""
    glob = glob.removeprefix("./")
    pattern, position = "", 0
    while position < len(glob):
        rest = glob[position:]
        if rest.startswith("**/"):
            pattern, position = pattern + "(?:[^/]+/)*", position + 3
        elif rest.startswith("**"):
            pattern, position = pattern + ".*", position + 2
        elif rest[0] == "*":
            pattern, position = pattern + "[^/]*", position + 1
        elif rest[0] == "?":
            pattern, position = pattern + "[^/]", position + 1
        elif rest[0] == "[" and "]" in rest[2:]:
            end = rest.index("]", 2)
            pattern, position = pattern + "[" + rest[1:end].replace("!", "^", 1).replace("\\", "\\\\") + "]", position + end + 1
        else:
            pattern, position = pattern + re.escape(rest[0]), position + 1
    return pattern + r"\Z"
