"""What we tell a person about their input or their world: values, collected, sorted and printed once.

A summary holds no user data (it is greppable and safe); the detail says what was seen; the fix says what to do next.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a diagnostic matters."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A place in a file; ``line`` and ``column`` count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing to say. ``code`` is one of the registered reasons (``Invalid``, ``NoSSHKey`` …); ``field`` is dotted."""

    severity: Severity
    code: str
    summary: str
    detail: str = ""
    fix: str = ""
    span: Span | None = None
    field: str = ""
    address: str = ""

    @property
    def is_error(self) -> bool:
        """True for a diagnostic that stops the command."""
        return self.severity is Severity.ERROR


@dataclass(frozen=True, slots=True)
class _Saying:
    """Makes diagnostics of one severity: ``error("Invalid", "…")``."""

    severity: Severity

    def __call__(
        self,
        code: str,
        summary: str,
        detail: str = "",
        fix: str = "",
        *,
        span: Span | None = None,
        field: str = "",
        address: str = "",
    ) -> Diagnostic:
        return Diagnostic(self.severity, code, summary, detail, fix, span, field, address)


error = _Saying(Severity.ERROR)
warning = _Saying(Severity.WARNING)
note = _Saying(Severity.NOTE)


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sorted by file, line and column; those without a place come last, in the order given."""
    placed = sorted((d for d in diagnostics if d.span is not None), key=lambda d: (d.span, d.code, d.field))
    return (*placed, *(d for d in diagnostics if d.span is None))


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """True if any of them stops the command."""
    return any(d.is_error for d in diagnostics)
