"""Diagnostics as text and as JSON: headline, place, explanation, remedy; a command stands on a line of its own."""

from __future__ import annotations

import textwrap
from typing import Any

from nodusctl.base.diagnostics import Diagnostic, Severity
from nodusctl.base.redaction import clean
from nodusctl.render.failures import failure_document
from nodusctl.render.style import Style

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_WIDEST = 120


def diagnostic_text(diagnostic: Diagnostic, style: Style) -> str:
    """Several lines, the first with severity, code and summary."""
    head = style.paint(f"{diagnostic.severity.value}[{diagnostic.code}]", _COLOURS[diagnostic.severity], "bold")
    lines = [f"{head} {diagnostic.summary}"]
    place = "  ".join(str(part) for part in (diagnostic.span, diagnostic.address, diagnostic.field) if part)
    if place:
        lines.append(f"  at {place}")
    lines += _indented(diagnostic.detail, style)
    if diagnostic.fix:
        first, *others = _indented(diagnostic.fix, style)
        lines += [style.paint("  fix: ", "bold") + first.strip(), *(f"     {line}" for line in others)]
    return "\n".join(lines)


def diagnostic_document(diagnostic: Diagnostic) -> dict[str, Any]:
    """The same as JSON; empty parts are left out. ``error`` is an error once more, as metav1.Status."""
    span = diagnostic.span
    parts: dict[str, Any] = {
        "severity": diagnostic.severity.value,
        "code": diagnostic.code,
        "summary": diagnostic.summary,
        "detail": diagnostic.detail,
        "fix": diagnostic.fix,
        "field": diagnostic.field,
        "address": diagnostic.address,
        "file": span.file if span else "",
        "line": span.line if span else 0,
        "column": span.column if span else 0,
        "error": failure_document(diagnostic) if diagnostic.is_error else {},
    }
    return {name: value for name, value in parts.items() if value}


def _indented(text: str, style: Style) -> list[str]:
    """Cleaned before it is wrapped: half a secret at the end of a line isn't known again."""
    width = min(style.width or _WIDEST, _WIDEST) - 4
    lines: list[str] = []
    for line in clean(text).splitlines():
        is_command = line.startswith((" ", "nodusctl "))
        lines += [line] if is_command else textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
    return [f"  {line}" for line in lines]
