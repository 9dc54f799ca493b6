"""One at a time on one machine or disk, between threads and processes of this computer.

Between computers it is the claim of the shared state that keeps two from stepping on one disk.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nodusctl.base.clock import Wall

_POLL_SECONDS = 0.05


class BusyError(OSError):
    """Another process works on the same thing for longer than we wait."""


@dataclass(frozen=True, slots=True)
class Locks:
    """Lock files in ``folder``; the kernel gives a lock back however its process ends."""

    folder: Path
    wall: Wall
    patience_seconds: float = 180.0

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Hold the lock of ``name``. BusyError after ``patience_seconds``: a start with graphics cards may take minutes."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self.folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            deadline = self.wall.monotonic() + self.patience_seconds
            while not _taken(handle):
                if self.wall.monotonic() > deadline:
                    raise BusyError(f"another process has been working on {name} for {self.patience_seconds:g} s")
                self.wall.sleep(_POLL_SECONDS)
            yield
        finally:
            os.close(handle)


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
