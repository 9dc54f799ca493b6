"""A look at this computer for ``doctor``: programs on PATH, room on disk, modes of private files, the clock."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from nodusctl.cli.wiring import Wiring
from nodusctl.engine.checkup import DiskRoom, FileMode, HostFacts

PROGRAMS = ("ssh", "ssh-keygen")


def host_facts(wiring: Wiring, state_folder: Path | None) -> HostFacts:
    """What was seen. ``state_folder`` is None where the project file can't be read."""
    path = wiring.surroundings.environment.get("PATH", os.defpath)
    folders = [("state folder", state_folder)] if state_folder is not None else []
    return HostFacts(
        python=sys.version_info[:3],
        platform=platform.platform(),
        programs=tuple((name, shutil.which(name, path=path) or "") for name in PROGRAMS),
        rooms=tuple(_room(what, folder) for what, folder in (*folders, ("data folder", wiring.data_folder))),
        modes=tuple(_modes(wiring, state_folder)),
        now=wiring.wall.now(),
        known_moment=_newest_price(),
    )


def _room(what: str, folder: Path) -> DiskRoom:
    """Of the folder, or of the nearest one above it that exists: it would be made there."""
    there = next(one for one in (folder, *folder.parents) if one.exists())
    is_writable = os.access(there, os.W_OK | os.X_OK)
    return DiskRoom(what=what, path=str(there), free_bytes=shutil.disk_usage(there).free, is_writable=is_writable)


def _modes(wiring: Wiring, state_folder: Path | None) -> Iterator[FileMode]:
    private = [
        ("state key", wiring.key_file),
        *(("private key", one) for one in sorted(wiring.data_folder.glob("ssh/*")) if one.suffix != ".pub"),
    ]
    if state_folder is not None:
        private.append(("state file", state_folder / "state.db"))
    for what, path in private:
        if path.is_file():
            yield FileMode(what=what, path=str(path), mode=path.stat().st_mode & 0o777)


def _newest_price() -> datetime | None:
    from nodusctl.catalog.prices import shipped_files

    return max((one.newest for one in shipped_files()), default=None)
