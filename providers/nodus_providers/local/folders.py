"""Where the local provider keeps what it holds, and the locks that make one thing out of two calls with one token.

    machines/<id>/     one machine, ended or not; .making-* are half made and nobody's
    disks/<id>/        one disk with its revisions
    gone/<id>.json     what a released machine or deleted disk was, so that asking again can be answered
    locks/             one lock file a machine or disk in work
    agents/            the agent's code, compiled, for every machine to share

Ids come from client tokens, so that what a token made is found without a search, whatever crashed in between.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodus_providers.local.trees import remove_tree
from nodusctl.base.clock import Wall

_LOCK_POLL_SECONDS = 0.02
_LEFT_OVER_SECONDS = 600


class BusyError(OSError):
    """Another process works on the same machine or disk for longer than we wait."""


@dataclass(frozen=True, slots=True)
class Root:
    """The provider instance's folder."""

    path: Path
    wall: Wall
    lock_seconds: float = 20.0

    def id_for(self, prefix: str, token: str) -> str:
        """The id of what a token makes here: ``m-`` or ``d-`` and 12 hex digits, on this computer no other folder's."""
        return f"{prefix}-{hashlib.sha256(f'{os.path.realpath(self.path)}|{token}'.encode()).hexdigest()[:12]}"

    @property
    def machines(self) -> Path:
        """The folder of machines."""
        return self.path / "machines"

    @property
    def disks(self) -> Path:
        """The folder of disks."""
        return self.path / "disks"

    def machine(self, machine_id: str) -> Path:
        """One machine's folder; ValueError for an id that can't be one."""
        return self.machines / _plain(machine_id)

    def disk(self, disk_id: str) -> Path:
        """One disk's folder; ValueError for an id that can't be one."""
        return self.disks / _plain(disk_id)

    def gone(self, thing_id: str) -> Mapping[str, Any]:
        """What is remembered of a thing that was released or deleted; empty where nothing is."""
        return read_json(self.path / "gone" / f"{_plain(thing_id)}.json")

    def remember_gone(self, thing_id: str, record: Mapping[str, Any]) -> None:
        """Remember a thing as gone."""
        write_json(self.path / "gone" / f"{_plain(thing_id)}.json", record)

    def ids(self, folder: Path) -> tuple[str, ...]:
        """Ids of the things in ``machines`` or ``disks``, in order; a folder without a record is none."""
        record = "machine.json" if folder == self.machines else "disk.json"
        return tuple(sorted(path.parent.name for path in folder.glob(f"*/{record}") if not path.parent.name.startswith(".")))

    def sweep(self) -> None:
        """Remove what crashed calls left half made or half removed; nothing of it was ever a machine or a disk."""
        for folder in (self.machines, self.disks):
            for path in [*folder.glob(".making-*"), *folder.glob(".away-*")]:
                if self.wall.now().timestamp() - path.lstat().st_mtime > _LEFT_OVER_SECONDS:
                    remove_tree(path)

    @contextmanager
    def locked(self, thing_id: str) -> Iterator[None]:
        """Hold one thing's lock; the kernel gives it back however this process ends. BusyError after ``lock_seconds``."""
        path = self.path / "locks" / _plain(thing_id)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = self._take(path)
        try:
            yield
        finally:
            if not self.machine(thing_id).exists() and not self.disk(thing_id).exists():
                path.unlink(missing_ok=True)
            os.close(handle)

    def _take(self, path: Path) -> int:
        deadline = self.wall.monotonic() + self.lock_seconds
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if path.exists() and path.stat().st_ino == os.fstat(handle).st_ino:
                    return handle
            except BlockingIOError:
                pass
            os.close(handle)
            if self.wall.monotonic() > deadline:
                raise BusyError(f"another process has been working on {path.name} for {self.lock_seconds:g} s")
            self.wall.sleep(_LOCK_POLL_SECONDS)


def read_json(path: Path) -> dict[str, Any]:
    """A file's mapping; empty where there is no file, or one of which a power cut has left nothing."""
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return dict(json.loads(text)) if text else {}


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Replace a JSON file whole, for good: written beside it, synced, renamed."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(value, sort_keys=True, indent=1))
        stream.flush()
        os.fsync(stream.fileno())
    Path(temporary).replace(path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make renames inside a folder last."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _plain(thing_id: str) -> str:
    if not thing_id or thing_id.startswith(".") or "/" in thing_id or "\0" in thing_id:
        raise ValueError("not an id of this provider")
    return thing_id
