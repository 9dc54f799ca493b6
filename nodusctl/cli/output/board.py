"""What every object of this command is at, from the reports so far: the one memory all three progress renderers read."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from nodusctl.base.ids import Address
from nodusctl.ports.progress import ProgressReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One object's last report, and since when (monotonic seconds) it has been in this step."""

    report: ProgressReport
    since: float


class Board:
    """Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[Address, Line] = {}

    def take(self, report: ProgressReport, monotonic_seconds: float) -> bool:
        """Remember a report; True if it says something new."""
        with self._lock:
            last = self._lines.get(report.address)
            if last is not None and _says(last.report) == _says(report):
                return False
            self._lines[report.address] = Line(report=report, since=monotonic_seconds)
            return True

    def going(self) -> tuple[Line, ...]:
        """Objects still at work, longest first."""
        with self._lock:
            return tuple(sorted((line for line in self._lines.values() if not line.report.is_over), key=lambda line: line.since))

    def over(self) -> tuple[Line, ...]:
        """Objects that are done or have failed, in the order they ended."""
        with self._lock:
            return tuple(sorted((line for line in self._lines.values() if line.report.is_over), key=lambda line: line.since))

    def summary(self, monotonic_seconds: float) -> str:
        """One line: how many are over, and where the others are."""
        going, over = self.going(), self.over()
        failed = sum(1 for line in over if line.report.has_failed)
        head = f"{len(over)} of {len(over) + len(going)} done" + (f", {failed} failed" if failed else "")
        shown = [
            f"{line.report.address} {line.report.phase}: {line.report.step} ({int(monotonic_seconds - line.since)}s)" for line in going[:4]
        ]
        if len(going) > 4:
            shown.append(f"and {len(going) - 4} more")
        return "; ".join([head, *shown])


def _says(report: ProgressReport) -> tuple[str, str, bool, bool]:
    return report.phase, report.step, report.is_over, report.has_failed
