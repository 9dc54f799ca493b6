"""Several outputs as one: what a command says is said by the main one, and then by each beside it.

``Quiet`` is the base of those beside: it says nothing, and its subclasses say what they are for. The surprise: an output beside hears of a
thing only after the main one has said it, so a person never waits for a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.base.exits import ExitCode
from nodusctl.cli.output.protocol import NOTHING_BESIDE, Aside, Document, Output, Text, code_with

if TYPE_CHECKING:
    from nodusctl.ports.progress import Progress, ProgressReport


class Quiet:
    """An output that says nothing."""

    def result(self, kind: str, text: Text, document: Document, aside: Aside = NOTHING_BESIDE) -> None:
        """Nothing."""

    def diagnose(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Nothing."""

    def remark(self, text: str) -> None:
        """Nothing."""

    def still(self, what: str, seconds: int) -> None:
        """Nothing."""

    def progress(self) -> Progress:
        return Together(())

    def finish(self, code: ExitCode) -> ExitCode:
        return code_with(self.lost(), code)

    def lost(self) -> tuple[Diagnostic, ...]:
        return ()


class Chorus:
    """``main`` first, then the others in their order."""

    def __init__(self, main: Output, beside: Sequence[Output]) -> None:
        self._all = (main, *beside)

    def result(self, kind: str, text: Text, document: Document, aside: Aside = NOTHING_BESIDE) -> None:
        for one in self._all:
            one.result(kind, text, document, aside)

    def diagnose(self, diagnostics: Iterable[Diagnostic]) -> None:
        said = tuple(diagnostics)
        for one in self._all:
            one.diagnose(said)

    def remark(self, text: str) -> None:
        for one in self._all:
            one.remark(text)

    def still(self, what: str, seconds: int) -> None:
        for one in self._all:
            one.still(what, seconds)

    def progress(self) -> Progress:
        return Together(tuple(one.progress() for one in self._all))

    def finish(self, code: ExitCode) -> ExitCode:
        """The main one last: it says what the others could not write, and the code that follows from it."""
        main, *beside = self._all
        for one in beside:
            code = one.finish(code)
        main.diagnose(fault for one in beside for fault in one.lost())
        return main.finish(code)

    def lost(self) -> tuple[Diagnostic, ...]:
        return tuple(fault for one in self._all for fault in one.lost())


class Together:
    """Several Progress renderers as one; none at all is silence."""

    def __init__(self, parts: tuple[Progress, ...]) -> None:
        self._parts = parts

    def report(self, report: ProgressReport) -> None:
        """To each."""
        for one in self._parts:
            one.report(report)

    def pulse(self) -> None:
        """To each."""
        for one in self._parts:
            one.pulse()
