"""Two clocks. ``Clock`` is the domain's time, which a simulated world may own; ``Wall`` is this computer's time, for
limits, heartbeats and lock expiry. Nobody else calls the system's.

The surprise: waiting belongs to the Clock. A simulated clock moves its world at once when everybody waits, so a test of a
45-second boot takes milliseconds and still takes 45 seconds of money.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """The domain's time."""

    def now(self) -> datetime:
        """The current moment, UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let ``seconds`` of domain time pass."""
        ...

    def wait(self, until: datetime, signal: threading.Event, calls_in_flight: Callable[[], int]) -> None:
        """Return when ``signal`` is set or the domain's time reaches ``until``, whichever is first.

        ``calls_in_flight`` counts provider calls of this process that may still set the signal: a simulated world moves
        only when none of them is working.
        """
        ...


class Wall(Protocol):
    """This computer's time."""

    def now(self) -> datetime:
        """The current moment, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Sleep for real."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The domain's time when it is simply the computer's."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))

    def wait(self, until: datetime, signal: threading.Event, calls_in_flight: Callable[[], int]) -> None:
        signal.wait(timeout=max(0.0, (until - self.now()).total_seconds()))


@dataclass(frozen=True, slots=True)
class SystemWall:
    """This computer's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


class FixedClock:
    """A clock that stands at a given moment and moves only by being waited on: for ``NODUSCTL_NOW``, plans/ and tests."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    def now(self) -> datetime:
        return self._moment

    def sleep(self, seconds: float) -> None:
        self._moment += timedelta(seconds=seconds)

    def wait(self, until: datetime, signal: threading.Event, calls_in_flight: Callable[[], int]) -> None:
        if calls_in_flight():
            signal.wait()
        elif not signal.is_set():
            self._moment = max(self._moment, until)
