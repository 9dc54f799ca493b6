"""What became of each object of an apply, as text, as Markdown and as JSON."""

from __future__ import annotations

from typing import Any

from nodusctl.engine.applying import ApplyResult
from nodusctl.executor.runs import ObjectOutcome
from nodusctl.render.comment_text import block_lines, fenced
from nodusctl.render.counting import counted
from nodusctl.render.style import PLAIN, Style


def outcomes_text(result: ApplyResult, style: Style) -> str:
    """One line an object, then a summary."""
    lines = [_line(outcome, style) for outcome in result.outcomes]
    done = sum(1 for outcome in result.outcomes if outcome.is_ok)
    failed = len(result.outcomes) - done
    summary = f"{counted(done, 'object')} done"
    if failed:
        summary += f", {failed} not"
    if result.skipped:
        summary += f", {len(result.skipped)} left out"
    if not result.outcomes and not result.skipped:
        return "" if result.diagnostics else "Done."
    return "\n".join([*lines, f"{summary}."])


def outcomes_document(result: ApplyResult) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "objects": [
            {
                "address": str(outcome.address),
                "phase": outcome.phase,
                "ok": outcome.is_ok,
                "code": outcome.code,
                "message": outcome.message,
                "removed": outcome.is_removed,
                "openIntent": outcome.has_open_intent,
            }
            for outcome in result.outcomes
        ],
        "leftOut": [
            {"code": reason.code, "address": str(reason.address) if reason.address else "", "message": reason.message, "fix": reason.fix}
            for reason in result.skipped
        ],
    }


def outcomes_markdown(result: ApplyResult) -> str:
    """The text as a block of its own, for a page beside a log; empty where there is nothing to tell."""
    text = outcomes_text(result, PLAIN)
    return "\n".join(fenced(block_lines([text]), language="text")) if text else ""


def _line(outcome: ObjectOutcome, style: Style) -> str:
    where = "removed" if outcome.is_removed else outcome.phase
    if outcome.is_ok:
        return f"{style.paint('ok', 'green')} {outcome.address}  {where}"
    return f"{style.paint('failed', 'red')} {outcome.address}  {where}  {outcome.code}: {outcome.message}".rstrip(": ")
