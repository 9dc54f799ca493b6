"""``fmt``: which files of a project are not in canonical form, and their canonical text. Writing is the last thing that happens.

Only files with objects of ours are touched, the project file among them; a file a person names is formatted whatever it holds.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nodusctl.base.diagnostics import Diagnostic, in_order
from nodusctl.documents.discovery import PROJECT_FILE, discover, read_files, shown_path
from nodusctl.documents.formatting import format_yaml
from nodusctl.documents.reading import load_documents
from nodusctl.resources.project import ProjectFile


@dataclass(frozen=True, slots=True, kw_only=True)
class FormattedFile:
    """One file. ``path`` is for people."""

    path: str
    file: Path
    text: str
    is_changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Formatting:
    """All files looked at, in order, and what is wrong with those that could not be formatted."""

    files: tuple[FormattedFile, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def changed(self) -> tuple[FormattedFile, ...]:
        """Files whose canonical text is another."""
        return tuple(one for one in self.files if one.is_changed)


def formatting_of(*, root: Path, project: ProjectFile, paths: Sequence[Path]) -> Formatting:
    """Look at ``paths`` (files, or folders with everything in them), or at the project's own files. Writes nothing."""
    named = [path for path in paths if path.is_file()]
    folders = [path for path in paths if path.is_dir()]
    found = [one for folder in folders for one in discover(folder)]
    if not paths:
        own = [root / PROJECT_FILE] if (root / PROJECT_FILE).is_file() else []
        found = [*own, *discover(root, project.settings.specs)]
        named = own
    candidates = {path.resolve(): path for path in (*named, *found)}
    read = read_files(root, candidates.values())
    files: list[FormattedFile] = []
    faults: list[Diagnostic] = list(read.diagnostics)
    always = {path.resolve() for path in named}
    by_name = {shown_path(root, path): path for path in candidates.values()}
    for name, content in read.files:
        file = by_name[name]
        if file.resolve() not in always and not load_documents([(name, content)]).documents:
            continue
        formatted = format_yaml(name, content)
        faults += formatted.diagnostics
        is_changed = not formatted.diagnostics and formatted.text.encode() != content
        files.append(FormattedFile(path=name, file=file, text=formatted.text, is_changed=is_changed))
    return Formatting(files=tuple(files), diagnostics=in_order(faults))


def write_formatted(formatting: Formatting) -> None:
    """Write each changed file whole or not at all, with the mode it had. OSError where one can't be written."""
    for one in formatting.changed:
        handle, temporary = tempfile.mkstemp(dir=one.file.parent, prefix=f".{one.file.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
                stream.write(one.text)
            Path(temporary).chmod(one.file.stat().st_mode & 0o7777)
            Path(temporary).replace(one.file.resolve())
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
