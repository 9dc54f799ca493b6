"""The whole of a state that doesn't exist yet, without loading SQLAlchemy for it: nothing to pull, nothing to keep."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from nodusctl.ports.pulled import Backup, Identity, PulledState, Replaced, Replacement
from nodusctl.store.revision import REVISION


class NoCopies:
    """Opened for reading; states that were kept in ``folder`` before are there all the same."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def identity(self) -> Identity:
        return Identity()

    def pull(self, by: str, at: datetime) -> PulledState:
        return PulledState(revision=REVISION, pulled_at=at, pulled_by=by, tables={}, numbers={})

    def text_of(self, state: PulledState) -> str:
        from nodusctl.store import pulled_files

        return pulled_files.text_of(state)

    def read(self, path: Path, *, takes_edited: bool = False) -> PulledState:
        from nodusctl.store import pulled_files

        return pulled_files.read(path, takes_edited=takes_edited)

    def replace(self, replacement: Replacement) -> Replaced:
        raise RuntimeError("this state was opened for reading")

    def keep(self, why: str, by: str, at: datetime) -> Backup:
        raise RuntimeError("there is no state to keep")

    def backups(self) -> tuple[Backup, ...]:
        from nodusctl.store.backups import Backups

        return Backups(self._folder).all()
