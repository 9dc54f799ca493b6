"""What a plan remarks beside its changes: warnings, due steps, machines nobody wants, hints. A line each, for a part that is folded."""

from __future__ import annotations

from collections.abc import Iterator

from nodusctl.base.diagnostics import Severity
from nodusctl.base.redaction import one_line
from nodusctl.plan.plan import Plan
from nodusctl.render.comment_text import block_lines, shortened
from nodusctl.render.counting import counted
from nodusctl.render.plan_costs import cost_remarks, warning_lines
from nodusctl.render.plan_text import burning_lines
from nodusctl.render.style import PLAIN
from nodusctl.render.timetables import timetable_notes

_LONGEST = 1_000
_FIRST_HOLD = "set aside at the start (first hold), for its lease, window or cap and the stop:"


def remarks_of(plan: Plan) -> tuple[str, ...]:
    """The gravest first; each as it may stand in a fence."""
    return tuple(line for text in _each(plan) for line in block_lines([shortened(one_line(text), _LONGEST)]))


def _each(plan: Plan) -> Iterator[str]:
    yield from (f"billing without anything that wants it: {line}" for line in burning_lines(plan))
    yield from warning_lines(plan, PLAIN)
    yield from (
        f"{one.severity.value}[{one.code}] {one.summary} {one.detail}" for one in plan.diagnostics if one.severity is not Severity.NOTE
    )
    yield from (f"due now, whatever the files say: {step.address}: {step.what} ({step.because})" for step in plan.due)
    yield from cost_remarks(plan, hold=_FIRST_HOLD)
    yield from timetable_notes(plan.timetables)
    yield from plan.hints
    if plan.ignored_fields:
        yield f"{counted(plan.ignored_fields, 'difference')} left alone by ignore rules of the project"
