"""Progress on a terminal: one live line for each object at work, redrawn in place; what is over stays above it.

rich is imported when the first report comes, not before: most commands have no progress at all.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TextIO

from nodusctl.base.clock import Wall
from nodusctl.base.redaction import clean
from nodusctl.cli.output.board import Board, Line
from nodusctl.ports.progress import ProgressReport

if TYPE_CHECKING:
    from rich.live import Live

_MOST_LINES = 12


class LiveProgress:
    """Draws on stderr; ``close`` takes the live lines away. Safe between threads."""

    def __init__(self, stream: TextIO, wall: Wall, *, has_colour: bool) -> None:
        self._stream, self._wall, self._has_colour = stream, wall, has_colour
        self._board = Board()
        self._lock = threading.RLock()
        self._live: Live | None = None
        self._has_begun = False

    def report(self, report: ProgressReport) -> None:
        self._board.take(report, self._wall.monotonic())
        with self._lock:
            self._draw(self._live or self._start())

    def pulse(self) -> None:
        """Also after something else was said, which took the lines away: what is awaited is shown for as long as it is."""
        with self._lock:
            if self._has_begun and self._board.going():
                self._draw(self._live or self._start())

    def close(self) -> None:
        """Stop drawing; nothing happens if drawing never began."""
        with self._lock:
            if self._live is not None:
                self._live.stop()
                self._live = None

    def _start(self) -> Live:
        from rich.console import Console
        from rich.live import Live

        console = Console(file=self._stream, force_terminal=True, no_color=not self._has_colour, highlight=False)
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._live.start()
        self._has_begun = True
        return self._live

    def _draw(self, live: Live) -> None:
        from rich.text import Text

        now = self._wall.monotonic()
        going = self._board.going()
        lines = [_live_line(line, now) for line in going[:_MOST_LINES]]
        if len(going) > _MOST_LINES:
            lines.append(f"  and {len(going) - _MOST_LINES} more")
        live.update(Text(clean("\n".join(lines)), no_wrap=True, overflow="ellipsis"), refresh=True)


def _live_line(line: Line, now: float) -> str:
    return f"  {line.report.address}  {line.report.phase}  {line.report.step}  {int(now - line.since)}s"
