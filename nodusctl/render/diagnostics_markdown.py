"""Errors and warnings as a Markdown table, for a page beside a log. Notes are left to the log."""

from __future__ import annotations

from collections.abc import Sequence

from nodusctl.base.diagnostics import Diagnostic, Severity
from nodusctl.render.comment_text import cell, row, shortened, table_head

MOST = 200
_LONGEST = 600
_HEADS = ("", "code", "where", "what is wrong", "fix")


def diagnostics_markdown(diagnostics: Sequence[Diagnostic]) -> str:
    """The table, at most 200 rows with the rest counted; empty for no error and no warning."""
    said = [one for one in diagnostics if one.severity is not Severity.NOTE]
    if not said:
        return ""
    left = [f"\n{len(said) - MOST} more are in the log."] if len(said) > MOST else []
    return "\n".join([*table_head(_HEADS), *(_row(one) for one in said[:MOST]), *left])


def _row(one: Diagnostic) -> str:
    where = " ".join(str(part) for part in (one.span, one.address, one.field) if part)
    what = f"{one.summary.rstrip('.')}. {one.detail}".strip()
    return row([one.severity.value, one.code, cell(where), cell(shortened(what, _LONGEST)), cell(shortened(one.fix, _LONGEST))])
