"""What a command may say: as text for people or JSON lines for programs, and beside it to files and CI. A command doesn't know to whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.base.exits import ExitCode
from nodusctl.render.style import Style

if TYPE_CHECKING:
    from nodusctl.ports.progress import Progress

Document = Callable[[], Mapping[str, Any]]
Text = Callable[[Style], str]


def _no_findings() -> tuple[Diagnostic, ...]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """What a result says beside its text and its document, each part made only where somebody wants it.

    ``markdown`` is for a summary page; ``findings`` are faults that the result itself tells, so that they aren't said twice; ``files`` are
    those that were read.
    """

    markdown: Callable[[], str] | None = None
    findings: Callable[[], tuple[Diagnostic, ...]] = _no_findings
    files: Callable[[], tuple[str, ...]] = tuple


NOTHING_BESIDE = Aside()
_SUCCESSES = frozenset({ExitCode.DONE, ExitCode.CHANGES})


def code_with(lost: Sequence[Diagnostic], code: ExitCode) -> ExitCode:
    """``code``, or an error where it says that all went well and words were lost."""
    return ExitCode.ERROR if lost and code in _SUCCESSES else code


class Output(Protocol):
    """One command's words."""

    def result(self, kind: str, text: Text, document: Document, aside: Aside = NOTHING_BESIDE) -> None:
        """A result in both forms; only the wanted one is made. ``kind`` is the JSON line's type (``plan``, ``result`` …)."""
        ...

    def diagnose(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Errors, warnings and notes, in order."""
        ...

    def remark(self, text: str) -> None:
        """Something in passing, for people only."""
        ...

    def still(self, what: str, seconds: int) -> None:
        """Work that reports on no object has been going on for ``seconds``."""
        ...

    def progress(self) -> Progress:
        """Where the executor reports to."""
        ...

    def finish(self, code: ExitCode) -> ExitCode:
        """After everything else: JSON says the exit code. The code to end with: an error where a success could not be written down."""
        ...

    def lost(self) -> tuple[Diagnostic, ...]:
        """Words that were said and could not be written: a full disk, not a reader who has gone."""
        ...
