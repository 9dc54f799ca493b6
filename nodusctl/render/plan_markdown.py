"""A plan as Markdown for a pull request: the same facts as the text, with the long parts folded.

Everything a person wrote stands in code spans or fenced blocks, so no name or message can become markup.
"""

from __future__ import annotations

from collections.abc import Iterator

from nodusctl.base.redaction import clean
from nodusctl.plan.costs import CostLine
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan
from nodusctl.render.plan_changes import action_lines, costs_by_address, mark_of
from nodusctl.render.plan_costs import COST_HEADS, FOOTNOTE, cost_row, total_row
from nodusctl.render.plan_text import summary_line
from nodusctl.render.style import PLAIN
from nodusctl.render.timetables import OPENING_HEADS, opening_rows, timetable_notes


def plan_markdown(plan: Plan) -> str:
    """The whole plan; secrets cleaned, because a comment leaves the terminal."""
    sections = (_head(plan), _reasons(plan), _changes(plan), _costs(plan), _openings(plan), _foot(plan))
    return clean("\n".join(line for section in sections for line in section))


def _head(plan: Plan) -> Iterator[str]:
    yield f"**{summary_line(plan)}**" + (f" Blocked by {len(plan.reasons)}." if plan.reasons else "")
    yield ""


def _reasons(plan: Plan) -> Iterator[str]:
    for reason in plan.reasons:
        where = f" `{reason.address}`" if reason.address is not None else ""
        yield f"- **{reason.code}**{where}"
        yield from _fenced([reason.message, *(f"fix: {line}" for line in reason.fix.splitlines()[:1]), *reason.fix.splitlines()[1:]], "  ")
    if plan.reasons:
        yield ""


def _changes(plan: Plan) -> Iterator[str]:
    if not plan.actions:
        return
    costs = costs_by_address(plan.costs)
    yield "| | object | consequence |"
    yield "|---|---|---|"
    for action in plan.actions:
        yield f"| `{mark_of(action)}` | `{action.address}` | {action.change_class.value} |"
    yield ""
    yield "<details><summary>Every field</summary>"
    yield ""
    yield from _fenced([line for action in plan.actions for line in action_lines(action, costs.get(action.address), PLAIN)], "")
    yield ""
    yield "</details>"
    yield ""


def _costs(plan: Plan) -> Iterator[str]:
    priced = [line for line in plan.costs if line.offering or line.lines]
    if not priced:
        return
    yield f"| {' | '.join(head.lower() for head in COST_HEADS)} |"
    yield "|" + "---|" * len(COST_HEADS)
    for line in priced:
        yield _row(line)
    if plan.totals is not None:
        yield f"| {' | '.join(_cell(text) for text in total_row(plan.totals))} |"
    yield ""
    yield FOOTNOTE
    yield ""


def _openings(plan: Plan) -> Iterator[str]:
    rows = opening_rows(plan.timetables)
    if rows:
        yield "<details><summary>Next openings</summary>"
        yield ""
        yield f"| {' | '.join(head.lower() for head in OPENING_HEADS)} |"
        yield "|" + "---|" * len(OPENING_HEADS)
        yield from (f"| {' | '.join(_cell(text) for text in row)} |" for row in rows)
        yield ""
        yield "</details>"
        yield ""
    notes = list(timetable_notes(plan.timetables))
    if notes:
        yield from _fenced(notes, "")
        yield ""


def _row(line: CostLine) -> str:
    return f"| {' | '.join(_cell(text) for text in cost_row(line))} |"


def _foot(plan: Plan) -> Iterator[str]:
    yield f"planHash `{plan_hash(plan)}`"


def _cell(text: str) -> str:
    """A table cell: a bar would end it, and a line break the row."""
    return text.replace("|", "\\|").replace("\n", " ")


def _fenced(lines: list[str], indent: str) -> Iterator[str]:
    """A fence longer than any run of backticks inside it."""
    longest = max((len(run) for line in lines for run in line.split() if set(run) == {"`"}), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{indent}{fence}"
    yield from (f"{indent}{inner}" for line in lines for inner in line.splitlines())
    yield f"{indent}{fence}"
