"""The time of a server that several computers share, whatever their own clocks say: by it claims and locks are judged."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from nodusctl.base.clock import Wall


class ServerWall:
    """A Wall whose time of day is the server's; how long things take is measured here."""

    def __init__(self, wall: Wall, ahead: Callable[[], timedelta]) -> None:
        self._wall, self._ahead = wall, ahead

    def now(self) -> datetime:
        return self._wall.now() + self._ahead()

    def monotonic(self) -> float:
        return self._wall.monotonic()

    def sleep(self, seconds: float) -> None:
        self._wall.sleep(seconds)
