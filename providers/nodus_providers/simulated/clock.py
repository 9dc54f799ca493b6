"""The world's clock: nothing moves by itself, and whoever waits moves it.

Calls that hang on the wall clock are not work: while only they are out, the world goes on. That is how one stuck call leaves the other
objects their boots.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from nodus_providers.simulated.database import WorldDatabase
from nodus_providers.simulated.instants import from_micro, to_micro
from nodus_providers.simulated.timeline import advance
from nodus_providers.simulated.world import World

_LOOK_SECONDS = 0.005
_HANG_PACE_SECONDS = 0.05
_NO_END = timedelta(days=365)


class Hanging:
    """How many calls of this process hang on the wall clock right now."""

    def __init__(self) -> None:
        self._lock, self._count = threading.Lock(), 0

    @property
    def count(self) -> int:
        """Calls that hang now."""
        return self._count

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Count one call while the block runs."""
        with self._lock:
            self._count += 1
        try:
            yield
        finally:
            with self._lock:
                self._count -= 1


class SimulatedClock:
    """Implements ``nodusctl.base.clock.Clock`` over the world's database; every process of a project sees the same time."""

    def __init__(self, database: WorldDatabase, world: Callable[[], World], hanging: Hanging) -> None:
        self._database, self._world, self._hanging = database, world, hanging

    def now(self) -> datetime:
        return from_micro(self._database.now())

    def sleep(self, seconds: float) -> None:
        with self._database.transaction() as tx:
            advance(tx, self._world(), tx.now + max(0, round(seconds * 1_000_000)))

    def wait(self, until: datetime, signal: threading.Event, calls_in_flight: Callable[[], int]) -> None:
        """Wait in real time for calls that work; else move the world to ``until`` at once.

        While calls hang, a move is preceded by a short real wait, so that a loop of waits doesn't race through the world's months. An
        ``until`` more than a year ahead is no wake-up: then only the signal ends the wait.
        """
        while not signal.is_set():
            if calls_in_flight() > self._hanging.count:
                signal.wait(_LOOK_SECONDS)
            elif until - self.now() > _NO_END:
                signal.wait()
            elif not (self._hanging.count and signal.wait(_HANG_PACE_SECONDS)) and not signal.is_set():
                self.move_to(until)
                return

    def move_to(self, moment: datetime) -> None:
        """Move the world to ``moment``, unless it is there already; what falls due on the way fires."""
        with self._database.transaction() as tx:
            advance(tx, self._world(), to_micro(moment))
