"""``-o custom-columns=NAME:.metadata.name,PHASE:.status.phase``: kubectl's form; what isn't there is ``<none>``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.render.jsonpath import evaluate
from nodusctl.render.style import Style
from nodusctl.render.tables import table

_NOTHING = "<none>"


@dataclass(frozen=True, slots=True)
class CustomColumn:
    """A head over a JSONPath without braces."""

    head: str
    path: str


def parse_columns(text: str) -> tuple[CustomColumn, ...]:
    """``HEAD:PATH,HEAD:PATH``; UserError (64) where a column has no head, no path, or an unreadable one."""
    columns = []
    for part in _split(text):
        head, colon, path = part.partition(":")
        if not (head and colon and path):
            raise UserError(_unreadable(part), exit_code=ExitCode.USAGE)
        column = CustomColumn(head, path.removeprefix("{").removesuffix("}"))
        evaluate(f"{{{column.path}}}", {})
        columns.append(column)
    return tuple(columns)


def columns_text(columns: Sequence[CustomColumn], documents: Sequence[Mapping[str, Any]], style: Style) -> str:
    """A table with these columns, one row a document."""
    rows = [[evaluate(f"{{{column.path}}}", document) or _NOTHING for column in columns] for document in documents]
    return table([column.head for column in columns], rows, style)


def _split(text: str) -> list[str]:
    """At commas that don't stand in brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "[{") - (character in "]}")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _unreadable(part: str) -> Diagnostic:
    return error("Usage", "A custom column can't be read", f"It says {part!r}.", "write NAME:.metadata.name,PHASE:.status.phase")
