"""Progress for programs: a line whenever something moved, and a heartbeat whenever ten seconds passed without one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from nodusctl.base.clock import Wall
from nodusctl.base.timestamps import format_time
from nodusctl.cli.output.board import Board
from nodusctl.ports.progress import ProgressReport

PERIOD_SECONDS = 9.0
"""A second under the promised ten, because a pulse comes only once a second."""


class JsonProgress:
    """Writes through ``say(type, fields)``; safe between threads."""

    def __init__(self, say: Callable[[str, dict[str, Any]], None], wall: Wall) -> None:
        self._say, self._wall = say, wall
        self._board = Board()
        self._lock = threading.Lock()
        self._said_at: float | None = None

    def report(self, report: ProgressReport) -> None:
        now = self._wall.monotonic()
        if not self._board.take(report, now):
            self.pulse()
            return
        with self._lock:
            self._said_at = now
        self._say(
            "progress",
            {
                "time": format_time(report.time),
                "address": str(report.address),
                "phase": report.phase,
                "step": report.step,
                "done": report.is_over,
                "failed": report.has_failed,
            },
        )

    def pulse(self) -> None:
        now = self._wall.monotonic()
        with self._lock:
            if self._said_at is None:
                self._said_at = now
            if now - self._said_at < PERIOD_SECONDS:
                return
            self._said_at = now
        waiting = [_place(line.report) for line in self._board.going()]
        self._say("heartbeat", {"time": format_time(self._wall.now()), "waiting": waiting})


def _place(report: ProgressReport) -> dict[str, str]:
    return {"address": str(report.address), "phase": report.phase, "step": report.step}
