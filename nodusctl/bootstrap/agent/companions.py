"""Programs of the keeper's own beside the machine: the relay to its door, the egress proxy.

They run outside the sandbox and are kept running.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Collection, Sequence

from . import processes
from .inside import Child
from .layout import Layout, write_json

_LEAST_GAP_SECONDS = 1.0


class Companions:
    """Those of one machine, by name."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._running: dict[str, Child] = {}
        self._started: dict[str, tuple[list[str], int]] = {}
        self._since: dict[str, float] = {}

    def start(self, name: str, words: Sequence[str], handle: int = -1) -> None:
        """Start one, instead of an earlier one of this name; it is handed the descriptor ``handle``, if any."""
        if name in self._running:
            self._running.pop(name).kill()
        self._started[name] = (list(words), handle)
        self._start(name)

    def mend(self, ended: Collection[int]) -> None:
        """Once a tick: start again what is among the pids that have ended, but not more often than once a second."""
        for name in [name for name, child in self._running.items() if child.pid in ended]:
            sys.stderr.write(f"the companion {name} has ended\n")
            del self._running[name]
        for name in self._started.keys() - self._running.keys():
            if time.monotonic() - self._since[name] >= _LEAST_GAP_SECONDS:
                self._start(name)

    def _start(self, name: str) -> None:
        self._since[name] = time.monotonic()
        self._running[name] = _spawn_beside(self._layout, *self._started[name])
        rows = [dict(processes.identity(child.pid)) for child in self._running.values()]
        write_json(self._layout.companions_file, {"running": rows}, is_synced=False)


def _spawn_beside(layout: Layout, words: Sequence[str], handle: int) -> Child:
    """Start a program of the keeper's own, outside the sandbox, with one more descriptor; it ends with the keeper."""
    with open(layout.log_file, "ab") as log:
        started = subprocess.Popen(
            list(words),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={"PATH": "/usr/bin:/bin", processes.MARKER: layout.boot["machine"]},
            cwd=layout.folder,
            pass_fds=(handle,) if handle >= 0 else (),
            start_new_session=True,
            preexec_fn=processes.die_with_parent,  # noqa: PLW1509 - the keeper has one thread
        )
    started.returncode = 0
    return Child(started.pid)
