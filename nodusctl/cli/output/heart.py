"""A pulse once a second while a command works, so that a ten-minute provider call is never ten minutes of silence."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from nodusctl.ports.progress import Progress

_PERIOD_SECONDS = 1.0


@contextmanager
def beating(progress: Progress, *, period_seconds: float = _PERIOD_SECONDS) -> Iterator[Progress]:
    """Pulse ``progress`` from a thread until the block ends."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(period_seconds):
            progress.pulse()

    thread = threading.Thread(target=beat, name="progress-pulse", daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        over.set()
        thread.join()
