"""What one pass of the loop goes by and says: one moment for all its decisions, and reports that are told once they are true.

A pass takes milliseconds and reading a simulated world's clock is a question to its database, so a pass asks once. A report waits for the
pass's commit: what a person reads has happened, also if the computer dies the moment after.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime

from nodusctl.base.clock import Clock
from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money
from nodusctl.ledger.room import HoldGuard
from nodusctl.ports.progress import Progress, ProgressReport
from nodusctl.state.records import Record

Room = Callable[[tuple[HoldGuard, ...]], tuple[Money | None, ...]]
_UNLIMITED = (None, None)


class PassClock:
    """A Clock that stands still between two ``move``."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._moment = clock, clock.now()

    def move(self) -> None:
        """The moment is now."""
        self._moment = self._clock.now()

    def now(self) -> datetime:
        return self._moment

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)

    def wait(self, until: datetime, signal: threading.Event, calls_in_flight: Callable[[], int]) -> None:
        self._clock.wait(until, signal, calls_in_flight)


class PassRoom:
    """What Budgets and grants have left for an object, asked again where an entry was posted or somebody else has written since.

    Where nothing limits, only somebody else's commit can change that (``moves`` counts them), so it isn't asked again for our own.
    """

    def __init__(self, guards_of: Callable[[Record], tuple[HoldGuard, ...]], room: Room) -> None:
        self._guards_of, self._ask = guards_of, room
        self._left: dict[str, tuple[Money | None, Money | None]] = {}
        self._unlimited: set[str] = set()
        self._moves, self._postings = 0, 0

    def renew(self, moves: int, postings: int) -> None:
        """Forget what may be different by now."""
        if moves != self._moves:
            self._unlimited.clear()
        if (moves, postings) != (self._moves, self._postings):
            self._left.clear()
        self._moves, self._postings = moves, postings

    def left(self, record: Record) -> tuple[Money | None, Money | None]:
        """The least any Block Budget has left, and what is left of all grants; never below zero, None where nothing limits it."""
        if record.uid in self._unlimited:
            return _UNLIMITED
        if record.uid not in self._left:
            guards = self._guards_of(record)
            found = [(guard, left) for guard, left in zip(guards, self._ask(guards), strict=True) if left is not None]
            budgets = [max(left, ZERO) for guard, left in found if guard.limit is not None]
            funds = [max(left, ZERO) for guard, left in found if guard.limit is None]
            left = (min(budgets, default=None), min(funds, default=None))
            if left == _UNLIMITED:
                self._unlimited.add(record.uid)
                return left
            self._left[record.uid] = left
        return self._left[record.uid]


class PassProgress:
    """A Progress whose reports wait for ``tell``."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._waiting: list[ProgressReport] = []

    def report(self, report: ProgressReport) -> None:
        self._waiting.append(report)

    def pulse(self) -> None:
        self._progress.pulse()

    def unsay(self, address: Address) -> None:
        """What waits to be said of this object turned out not to be so."""
        self._waiting = [report for report in self._waiting if report.address != address]

    def tell(self) -> None:
        """Pass on what waits."""
        waiting, self._waiting = self._waiting, []
        for report in waiting:
            self._progress.report(report)
