"""Reading a project's specs: which files, what they mean, and whether what they name exists.

All files of the project are read even when a PATH selects some, because references resolve against all of them and because a file that
wasn't selected must not look like one that was deleted. Faults of files that weren't selected are left for the command that selects them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from nodusctl.base.diagnostics import Diagnostic, error, has_errors, in_order, note
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.documents.discovery import discover, read_files, shown_path
from nodusctl.documents.reading import load_documents
from nodusctl.engine.naming import unknown_object
from nodusctl.resources.decode import decode
from nodusctl.resources.project import ProjectFile
from nodusctl.resources.references import check_references, ordered
from nodusctl.resources.resource import Resource
from nodusctl.state.snapshot import Snapshot

_SUFFIXES = ("*.yaml", "*.yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Specs:
    """What the files say. ``resources`` are the selected ones, ``written`` the addresses of all documents of the project.

    ``paths`` are the selected PATHs relative to the project, empty for all of it. ``is_read_whole`` is False where some file could not be
    read or understood; then nothing may count as removed.
    """

    resources: tuple[Resource, ...]
    written: frozenset[Address]
    paths: tuple[str, ...]
    files: int
    diagnostics: tuple[Diagnostic, ...]
    is_read_whole: bool

    @property
    def has_errors(self) -> bool:
        """True if no plan can be made of them."""
        return has_errors(self.diagnostics)


def read_specs(
    *, root: Path, project: ProjectFile, paths: Sequence[Path] = (), snapshot: Snapshot | None = None, clock_now: datetime | None
) -> Specs:
    """Read the project in ``root``; ``paths`` (files or folders) select documents of it. ``clock_now`` None skips rules relative to now.

    Every fault is a diagnostic; nothing is raised for what a file says.
    """
    known = snapshot or Snapshot()
    of_project = discover(root, project.settings.specs, files_of_settings(root, project))
    named = _named_files(paths)
    everything = tuple({path.resolve(): path for path in (*named, *of_project)}.values())
    read = read_files(root, everything)
    loaded = load_documents(read.files, named=frozenset(shown_path(root, path) for path in paths if path.is_file()))
    specs_of_state = {standing.record.address: standing.record.spec for standing in known}
    decoded = decode(loaded.documents, clock_now=clock_now, project=project.project, known=specs_of_state)
    selected = _selected_files(root, paths, everything)
    mine = tuple(one for one in decoded.resources if not paths or one.source in selected)
    faults = (*read.diagnostics, *loaded.diagnostics, *decoded.diagnostics)
    told = (*_told(faults, selected if paths else None), *_reference_faults(mine, decoded.resources, specs_of_state))
    return Specs(
        resources=mine,
        written=frozenset(one.address for one in decoded.resources),
        paths=tuple(shown_path(root, path) for path in paths),
        files=len(read.files),
        diagnostics=in_order((*told, *_skipped(loaded.skipped))),
        is_read_whole=not has_errors(faults),
    )


def readable_specs(
    root: Path, project: ProjectFile, snapshot: Snapshot, now: datetime, *, paths: Sequence[Path] = (), named: Iterable[Address] = ()
) -> Specs:
    """The same for a plan: UserError with every fault, for a project without objects, and for a ``named`` object nobody knows."""
    specs = read_specs(root=root, project=project, paths=paths, snapshot=snapshot, clock_now=now)
    empty = no_documents(specs, root)
    if specs.has_errors or empty is not None:
        raise UserError(*specs.diagnostics, *((empty,) if empty is not None else ()))
    known = {*specs.written, *snapshot.standings}
    missing = [unknown_object(address, sorted(known)) for address in named if address not in known]
    if missing:
        raise UserError(*missing)
    return specs


def no_documents(specs: Specs, root: Path) -> Diagnostic | None:
    """The error of a project without a single object: most often the wrong folder."""
    if specs.resources or specs.has_errors:
        return None
    where = ", ".join(specs.paths) or str(root)
    detail = f"{where} holds no document of nodusctl; {'1 file was' if specs.files == 1 else f'{specs.files} files were'} looked at."
    is_project = (root / "nodusctl.yaml").exists()
    fix = (
        "Check the folder and the specs globs of nodusctl.yaml. To remove everything, say so:\n  nodusctl destroy"
        if is_project
        else "Make a project here, or name one with --chdir:\n  nodusctl init"
    )
    return error("NotFound", "There is nothing to plan.", detail, fix)


def files_of_settings(root: Path, project: ProjectFile) -> frozenset[Path]:
    """Files that provider settings name (a simulated world, a catalogue); they are no specs."""
    texts = (text for provider in project.providers for text in _texts(provider.settings))
    return frozenset(path for text in texts if (path := root / text).suffix in {".yaml", ".yml"} and path.is_file())


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)


def _named_files(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Files under the PATHs, also where no glob of the project matches them; a folder gives its YAML files, hidden ones aside."""
    found: list[Path] = []
    for path in paths:
        found += discover(path, [f"**/{suffix}" for suffix in _SUFFIXES]) if path.is_dir() else [path]
    return tuple(path.resolve() for path in found)


def _selected_files(root: Path, paths: Sequence[Path], everything: Iterable[Path]) -> frozenset[str]:
    wanted = [path.resolve() for path in paths]
    under = (path for path in everything if any(path.resolve().is_relative_to(one) for one in wanted))
    return frozenset(shown_path(root, path) for path in under)


def _told(faults: Iterable[Diagnostic], selected: frozenset[str] | None) -> tuple[Diagnostic, ...]:
    if selected is None:
        return tuple(faults)
    return tuple(fault for fault in faults if fault.span is None or fault.span.file in selected)


def _reference_faults(
    mine: tuple[Resource, ...], everything: tuple[Resource, ...], state: Mapping[Address, Mapping[str, Any]]
) -> tuple[Diagnostic, ...]:
    known = (*(one.address for one in everything), *state)
    return (*check_references(mine, known), *ordered(mine).diagnostics)


def _skipped(count: int) -> tuple[Diagnostic, ...]:
    if not count:
        return ()
    are = "1 document is" if count == 1 else f"{count} documents are"
    return (note("Skipped", "Some documents are not for nodusctl.", f"{are} without a nodus.dev/ apiVersion and left alone."),)
