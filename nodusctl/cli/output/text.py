"""Words for people: results on stdout, the rest on stderr."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TextIO

from nodusctl.base.clock import Wall
from nodusctl.base.diagnostics import Diagnostic, in_order
from nodusctl.base.exits import ExitCode
from nodusctl.cli.output.protocol import NOTHING_BESIDE, Aside, Document, Text, code_with
from nodusctl.cli.output.streams import CleanStream
from nodusctl.render.diagnostics import diagnostic_text
from nodusctl.render.style import Style

if TYPE_CHECKING:
    from nodusctl.cli.output.progress_live import LiveProgress
    from nodusctl.ports.progress import Progress


class TextOutput:
    """``has_colour`` is decided for each stream by itself: a piped stdout stays plain while stderr may be painted."""

    def __init__(
        self,
        stdout: TextIO,
        stderr: TextIO,
        wall: Wall,
        *,
        out_has_colour: bool,
        err_has_colour: bool,
        defused: Callable[[str], str] = str,
    ) -> None:
        self._out, self._err, self._wall = CleanStream(stdout, defused), CleanStream(stderr, defused), wall
        self._raw_err = stderr
        self._out_style = Style(has_colour=out_has_colour, width=_columns(stdout), has_blocks=_shows_blocks(stdout))
        self._err_style = Style(has_colour=err_has_colour, width=_columns(stderr))
        self._live: LiveProgress | None = None

    def result(self, kind: str, text: Text, document: Document, aside: Aside = NOTHING_BESIDE) -> None:
        self._settle()
        shown = text(self._out_style)
        if shown:
            self._out.line(shown)

    def diagnose(self, diagnostics: Iterable[Diagnostic]) -> None:
        self._settle()
        for diagnostic in in_order(tuple(diagnostics)):
            self._err.line(diagnostic_text(diagnostic, self._err_style))

    def remark(self, text: str) -> None:
        self._settle()
        self._err.line(text)

    def still(self, what: str, seconds: int) -> None:
        self._err.line(f"{what} … {seconds}s")

    def progress(self) -> Progress:
        if not self._err.isatty():
            from nodusctl.cli.output.progress_lines import LineProgress

            return LineProgress(self._err, self._wall)
        from nodusctl.cli.output.progress_live import LiveProgress

        self._live = LiveProgress(self._raw_err, self._wall, has_colour=self._err_style.has_colour)
        return self._live

    def finish(self, code: ExitCode) -> ExitCode:
        self._settle()
        self.diagnose(self.lost())
        return code_with(self.lost(), code)

    def lost(self) -> tuple[Diagnostic, ...]:
        return self._out.lost("stdout")

    def _settle(self) -> None:
        if self._live is not None:
            self._live.close()


def _shows_blocks(stream: TextIO) -> bool:
    """True for a terminal whose encoding has them: a log, a file and an old console get plain ASCII."""
    try:
        "█▏".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return stream.isatty()


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except OSError:
        return 0
