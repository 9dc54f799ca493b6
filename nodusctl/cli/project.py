"""Which project a command speaks of: the folder with a nodusctl.yaml that a PATH names, else the first one found by walking up.

Without any, the current folder is a project with the defaults: name ``default``, provider ``local``, state under ``.nodus/``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.redaction import REDACTOR
from nodusctl.base.urls import passwords_of
from nodusctl.documents.discovery import PROJECT_FILE, shown_path
from nodusctl.documents.reading import read_mapping
from nodusctl.resources.project import ProjectFile, decode_project, default_project


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """``folder`` is what relative paths of the file are relative to. ``paths`` select documents; empty means all of the project's."""

    folder: Path
    file: ProjectFile
    has_file: bool
    paths: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """The namespace of its objects."""
        return self.file.project

    @property
    def state_url(self) -> str:
        """Where its state is."""
        return self.file.settings.state

    @property
    def state_folder(self) -> Path:
        """``.nodus``: kept plans, simulated worlds, known hosts."""
        return self.folder / ".nodus"


def open_project(start: Path, words: Sequence[str] = ()) -> Project:
    """The project of a command started in ``start`` with these PATHs. UserError for a faulty nodusctl.yaml or a PATH that isn't there."""
    paths = [start / word for word in words]
    for word, path in zip(words, paths, strict=True):
        if not path.exists():
            raise UserError(
                error("NotFound", "A path does not exist", f"It says {word}.", "Check the spelling; paths are relative to here.")
            )
    roots = [path for path in paths if (path / PROJECT_FILE).is_file()]
    if len(roots) > 1 or (roots and len(paths) > 1):
        detail = f"{', '.join(map(str, roots))} holds a {PROJECT_FILE}, so it is a project of its own."
        raise UserError(
            error("Usage", "One command works on one project", detail, "Name one project folder, or files of one."),
            exit_code=ExitCode.USAGE,
        )
    if roots:
        return _read(roots[0].resolve(), (), start)
    folder = _walk_up(start)
    return _read(folder or start.resolve(), tuple(paths), start)


def _walk_up(start: Path) -> Path | None:
    here = start.resolve()
    return next((folder for folder in (here, *here.parents) if (folder / PROJECT_FILE).is_file()), None)


def _read(folder: Path, paths: tuple[Path, ...], start: Path) -> Project:
    path = folder / PROJECT_FILE
    if not path.is_file():
        return Project(folder=folder, file=default_project(), has_file=False, paths=paths)
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise UserError(error("Invalid", "The project file can't be read", f"{path}: {fault.strerror}.")) from None
    shown = shown_path(start, path)
    document, faults = read_mapping(shown, content)
    if document is None:
        raise UserError(*faults)
    decoded = decode_project(document)
    if decoded.project is None:
        raise UserError(*decoded.diagnostics)
    for password in passwords_of(decoded.project.settings.state):
        REDACTOR.remember(password)
    return Project(folder=folder, file=decoded.project, has_file=True, paths=paths)
