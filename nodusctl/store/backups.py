"""Kept states: files in a folder of this person's checkout, the last twenty of those that were kept by themselves.

What was kept by hand is never removed. A name tells when, at which serial and why: ``20261129T230406Z-serial-12-before-push.json``.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from nodusctl.ports.pulled import Backup, PulledState
from nodusctl.store import faults
from nodusctl.store.location import prepare_folder

BY_HAND = "by-hand"
KEPT = 20
_NAME = re.compile(r"(?P<at>\d{8}T\d{6}Z)-serial-(?P<serial>\d+)-(?P<why>[a-z-]+?)(-\d+)?\.json\Z")


class Backups:
    """The ones in ``folder``, which is made when the first is kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, state: PulledState, why: str) -> Backup:
        """Write one, whole and on disk before this returns. UserError where that can't be done."""
        from nodusctl.store.pulled_files import text_of

        path = self._free_path(f"{state.pulled_at:%Y%m%dT%H%M%SZ}-serial-{state.identity.serial}-{why}")
        try:
            prepare_folder(self.folder)
            self.folder.mkdir(exist_ok=True, mode=0o700)
            write_private(path, text_of(state))
        except OSError as problem:
            raise faults.not_kept(path, problem.strerror or str(problem)) from None
        self._forget_oldest()
        kept = self._read(path)
        assert kept is not None, "it was named a moment ago"
        return kept

    def all(self) -> tuple[Backup, ...]:
        """Newest first."""
        found = (self._read(path) for path in self.folder.glob("*.json")) if self.folder.is_dir() else ()
        return tuple(sorted((one for one in found if one is not None), key=lambda one: (one.kept_at, one.name), reverse=True))

    def _free_path(self, stem: str) -> Path:
        path, number = self.folder / f"{stem}.json", 1
        while path.exists():
            number += 1
            path = self.folder / f"{stem}-{number}.json"
        return path

    def _forget_oldest(self) -> None:
        for old in [one for one in self.all() if one.why != BY_HAND][KEPT:]:
            with suppress(OSError):
                old.path.unlink()

    def _read(self, path: Path) -> Backup | None:
        name = _NAME.match(path.name)
        if name is None:
            return None
        return Backup(
            name=path.name,
            path=path,
            kept_at=datetime.strptime(name["at"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC),
            serial=int(name["serial"]),
            why=name["why"],
            size_bytes=path.stat().st_size,
        )


def write_private(path: Path, text: str) -> None:
    """Whole or not at all, readable by its owner only, and on disk when this returns."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
