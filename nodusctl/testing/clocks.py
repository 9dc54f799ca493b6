"""A wall clock that tests can move, for whatever waits on this computer's time."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta


class FakeWall:
    """Implements ``nodusctl.base.clock.Wall``: a sleep takes no time, moves the clock, and is remembered. Safe between threads."""

    def __init__(self, moment: datetime = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)) -> None:
        self._lock = threading.Lock()
        self._moment, self._monotonic = moment, 0.0
        self._slept: tuple[float, ...] = ()

    @property
    def slept(self) -> tuple[float, ...]:
        """The seconds of every sleep, in order."""
        return self._slept

    def now(self) -> datetime:
        return self._moment

    def monotonic(self) -> float:
        return self._monotonic

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self._slept = (*self._slept, seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass without a sleep."""
        with self._lock:
            self._moment += timedelta(seconds=seconds)
            self._monotonic += seconds
