"""What a command may say. Two implementations: text for people, JSON lines for programs; a command doesn't know which one it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.base.exits import ExitCode
from nodusctl.render.style import Style

if TYPE_CHECKING:
    from nodusctl.ports.progress import Progress

Document = Callable[[], Mapping[str, Any]]
Text = Callable[[Style], str]


class Output(Protocol):
    """One command's words."""

    def result(self, kind: str, text: Text, document: Document) -> None:
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

    def finish(self, code: ExitCode) -> None:
        """After everything else: JSON says the exit code."""
        ...
