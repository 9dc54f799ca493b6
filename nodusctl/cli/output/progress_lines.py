"""Progress where nobody watches a terminal: one line after a second, then at most one line in ten seconds."""

from __future__ import annotations

import threading

from nodusctl.base.clock import Wall
from nodusctl.cli.output.board import Board
from nodusctl.cli.output.streams import CleanStream
from nodusctl.ports.progress import ProgressReport

PERIOD_SECONDS = 10.0
_FIRST_SECONDS = 0.9


class LineProgress:
    """Writes to stderr; safe between threads."""

    def __init__(self, stream: CleanStream, wall: Wall) -> None:
        self._stream, self._wall = stream, wall
        self._board = Board()
        self._lock = threading.Lock()
        self._due_at = wall.monotonic() + _FIRST_SECONDS

    def report(self, report: ProgressReport) -> None:
        # Said with the next pulse: what a pass learns of several objects comes one after the other, and a line counts them all.
        self._board.take(report, self._wall.monotonic())

    def pulse(self) -> None:
        now = self._wall.monotonic()
        with self._lock:
            if now < self._due_at or not self._board.going():
                return
            self._due_at = now + PERIOD_SECONDS
        self._stream.line(self._board.summary(now))
