"""Faults of form, in words that say what to do. The parser's own sentence is kept only where we have no better one."""

from __future__ import annotations

import re
from typing import Protocol

from nodusctl.base.diagnostics import Diagnostic, Span, error
from nodusctl.documents.syntax_fixes import Trouble, mend

MAX_BYTES = 1024 * 1024
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")
_MAX_CHARACTER_FAULTS = 5


class Mark(Protocol):
    """A position of the parser; both count from 0."""

    line: int
    column: int


class MarkedProblem(Protocol):
    """What the parser says about a syntax error."""

    problem: str | None
    problem_mark: Mark | None
    context: str | None
    context_mark: Mark | None


def syntax_fault(file: str, text: str, line_offset: int, problem: MarkedProblem) -> Diagnostic:
    """The parser's refusal as a diagnostic at the place where a person would look."""
    words = problem.problem or "it can't be read"
    mark = problem.problem_mark or problem.context_mark
    if "end of stream" in words and problem.context_mark is not None:
        mark = problem.context_mark
    line, column = (mark.line, mark.column) if mark is not None else (0, 0)
    lines = text.split("\n")
    written = lines[line] if line < len(lines) else ""
    indent = written[: len(written) - len(written.lstrip())]
    span = Span(file, line + line_offset + 1, column + 1)
    if "\t" in indent or "'\\t'" in words or "tab character" in words:
        at = Span(file, span.line, indent.index("\t") + 1) if "\t" in indent else span
        return error(
            "Invalid",
            "A tab stands where YAML needs spaces.",
            "YAML is indented with spaces only.",
            "Replace the tab with spaces.",
            span=at,
        )
    began = problem.context_mark.line if problem.context_mark is not None else None
    trouble = Trouble(lines=lines, line=line, column=column, words=words, context=problem.context or "", began=began, offset=line_offset)
    mended = mend(trouble)
    detail = f"{problem.context}: {words}." if problem.context else f"The reader says: {words}."
    if "mapping values are not allowed" in words:
        detail = "A second ': ' stands in one line, or the line is indented further than its neighbours."
    span = Span(file, mended.line + line_offset + 1, mended.column + 1)
    return error("Invalid", "This is not valid YAML.", detail[0].upper() + detail[1:], mended.fix, span=span)


def too_large(file: str, size: int) -> Diagnostic:
    """A file above the size limit, which is not read."""
    return error(
        "RequestEntityTooLarge",
        "The file is too large.",
        f"It has {size} bytes; at most {MAX_BYTES} (1 MiB) are read.",
        "Split it.",
        span=Span(file, 1, 1),
    )


def not_utf8(file: str, content: bytes, position: int) -> Diagnostic:
    """A byte that is no UTF-8."""
    before = content[:position]
    line_start = before.rfind(b"\n") + 1
    span = Span(file, before.count(b"\n") + 1, len(before[line_start:].decode("utf-8", "replace")) + 1)
    return error(
        "Invalid", "The file is not UTF-8.", f"Byte 0x{content[position]:02x} can't be read.", "Save the file as UTF-8.", span=span
    )


def forbidden_characters(file: str, text: str) -> tuple[Diagnostic, ...]:
    """Control characters, NUL among them, which no YAML text may hold; the first few are named."""
    faults = []
    for found in _FORBIDDEN.finditer(text):
        position = found.start()
        span = Span(file, text.count("\n", 0, position) + 1, position - (text.rfind("\n", 0, position) + 1) + 1)
        name = "NUL" if found[0] == "\x00" else f"U+{ord(found[0]):04X}"
        faults.append(
            error("Invalid", "A control character stands in the file.", f"{name} is not allowed in YAML.", "Remove it.", span=span)
        )
        if len(faults) == _MAX_CHARACTER_FAULTS:
            break
    return tuple(faults)


def unreadable(file: str, why: str) -> Diagnostic:
    """A file the system won't let us read."""
    return error("Invalid", "The file can't be read.", why, span=Span(file, 1, 1))


_GAVE_UP = "Look below it for a bracket or quote that is not closed, and for a wrong indentation."


def unknown_syntax_fault(file: str, line: int) -> Diagnostic:
    """A text the reader gives up on without saying where."""
    return error("Invalid", "This is not valid YAML.", "The reader gave up somewhere after this line.", _GAVE_UP, span=Span(file, line, 1))
