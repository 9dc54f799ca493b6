"""``validate``: read and check specs, offline, without a state's help unless it is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.engine.specs import no_documents, read_specs
from nodusctl.resources.project import ProjectFile
from nodusctl.state.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What was found. ``counts`` is objects by kind (``workspace``), ``names`` the files that hold them."""

    diagnostics: tuple[Diagnostic, ...]
    counts: Mapping[str, int]
    files: int
    names: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        """True if a plan could be made of it."""
        return not any(one.is_error for one in self.diagnostics)


def validate(
    *, root: Path, project: ProjectFile, paths: Sequence[Path] = (), snapshot: Snapshot | None = None, clock_now: datetime | None
) -> Validation:
    """Every fault of every selected file at once. ``clock_now`` None is ``--no-clock``; ``snapshot`` lets old times stay valid."""
    specs = read_specs(root=root, project=project, paths=paths, snapshot=snapshot, clock_now=clock_now)
    empty = no_documents(specs, root)
    return Validation(
        diagnostics=(*specs.diagnostics, *((empty,) if empty is not None else ())),
        counts=Counter(one.address.kind for one in specs.resources),
        files=specs.files,
        names=tuple(sorted({one.source for one in specs.resources})),
    )
