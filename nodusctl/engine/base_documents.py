"""The objects that a commit has, as far as two commits differ: decoded as the files of the working tree are, with nothing checked out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.documents.discovery import among, shown_path
from nodusctl.documents.reading import load_documents
from nodusctl.engine.base_git import Commit, GitRepository
from nodusctl.engine.specs import files_of_settings
from nodusctl.resources.decode import decode
from nodusctl.resources.project import ProjectFile
from nodusctl.resources.resource import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One object as it was written: what makes two forms of it the same, and where it stands."""

    spec: Mapping[str, Any]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    file: str

    def is_same(self, other: Written | None) -> bool:
        """True where both mean the same, wherever they stand."""
        return other is not None and (self.spec, self.labels, self.annotations) == (other.spec, other.labels, other.annotations)


def written_of(resource: Resource) -> Written:
    """An object of the working tree in the same form."""
    return Written(spec=dict(resource.written), labels=dict(resource.labels), annotations=dict(resource.annotations), file=resource.source)


def same(one: Written | None, other: Written | None) -> bool:
    """True where both are missing, or mean the same."""
    return one.is_same(other) if one is not None else other is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """Objects of the files that differ between two commits, in each of them.

    ``doubtful`` are objects of files that one of the commits has in a form nobody can read: nothing follows from those.
    """

    before: Mapping[Address, Written]
    after: Mapping[Address, Written]
    doubtful: frozenset[Address]

    def addresses(self) -> tuple[Address, ...]:
        """Those that really differ, doubtful ones aside."""
        either = {*self.before, *self.after} - self.doubtful
        return tuple(sorted(one for one in either if not same(self.before.get(one), self.after.get(one))))


def differing(repository: GitRepository, before: Commit, after: Commit, root: Path, project: ProjectFile) -> Differing:
    """Read both sides of every spec file that differs."""
    names = spec_names(repository.changed_files(before, after), root, project)
    old, old_faults = objects_in(repository.contents(before, names), project)
    new, new_faults = objects_in(repository.contents(after, names), project)
    faulty = old_faults | new_faults
    doubtful = frozenset(address for side in (old, new) for address, one in side.items() if one.file in faulty)
    return Differing(before=old, after=new, doubtful=doubtful)


def spec_names(names: Iterable[str], root: Path, project: ProjectFile) -> tuple[str, ...]:
    """Which of these files the project reads as specs."""
    settings = {shown_path(root, path) for path in files_of_settings(root, project)}
    return tuple(name for name in among(names, project.settings.specs) if name not in settings)


def objects_in(files: Mapping[str, bytes], project: ProjectFile) -> tuple[dict[Address, Written], frozenset[str]]:
    """The objects of some files, and the files of which some part could not be read."""
    loaded = load_documents(sorted(files.items()))
    decoded = decode(loaded.documents, clock_now=None, project=project.project)
    faults = (one for one in (*loaded.diagnostics, *decoded.diagnostics) if one.is_error and one.span is not None)
    return {one.address: written_of(one) for one in decoded.resources}, frozenset(one.span.file for one in faults if one.span is not None)
