"""A plan as text: what changes, what it costs, what stops it, and the one line that sums it up.

Text and exit code ask the same Plan, so they can't disagree. Nothing here depends on when the plan was made: the same plan gives the same
text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nodusctl.plan.actions import Verb
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan
from nodusctl.plan.reasons import BlockingReason
from nodusctl.render.counting import counted
from nodusctl.render.plan_changes import action_lines, costs_by_address, refused_fields
from nodusctl.render.plan_costs import cost_lines, warning_lines
from nodusctl.render.spans import moment_text
from nodusctl.render.style import Style
from nodusctl.render.timetables import timetable_lines

SUMMARY_WORDS = (
    (Verb.CREATE, "to create"),
    (Verb.UPDATE, "to change"),
    (Verb.RESTART, "to restart"),
    (Verb.MOVE, "moved"),
    (Verb.ADOPT, "to adopt"),
    (Verb.RESTORE, "to restore"),
    (Verb.PRUNE, "to prune"),
    (Verb.KEEP, "kept"),
    (Verb.DELETE, "to remove"),
)


def plan_text(plan: Plan, style: Style) -> str:
    """The whole plan; ends with its summary, its hash and, where it is blocked, by how many reasons."""
    costs, refused = costs_by_address(plan.costs), refused_fields(plan.reasons)
    changes = [
        line for action in plan.actions for line in action_lines(action, costs.get(action.address), style, refused.get(action.address, ()))
    ]
    sections = (
        ("", [_head(plan, style)]),
        ("Changes", [f"  {line}" for line in changes]),
        ("Cost", list(cost_lines(plan, style))),
        ("Next openings", list(timetable_lines(plan.timetables, style))),
        ("Warnings", list(warning_lines(plan, style))),
        ("Due now, whatever the files say", [f"  {step.address}: {step.what} ({step.because})" for step in plan.due]),
        ("Billing without anything that wants it", [f"  {line}" for line in burning_lines(plan)]),
        ("Blocked", list(_reasons(plan.reasons, style))),
        ("Hints", [f"  {line}" for hint in plan.hints for line in hint.splitlines()]),
        ("", list(_foot(plan, style))),
    )
    blocks = ["\n".join([*([style.paint(title, "bold")] if title else []), *lines]) for title, lines in sections if lines]
    return "\n\n".join(blocks)


def summary_line(plan: Plan) -> str:
    """``2 to create, 1 to change.`` or ``No changes``; the counts a detailed exit code stands for."""
    counts = [f"{plan.counts[verb]} {words}" for verb, words in SUMMARY_WORDS if plan.counts[verb]]
    return f"Plan: {', '.join(counts)}." if counts else left_alone(plan) or "No changes. The state is what the files say."


def left_alone(plan: Plan) -> str:
    """That nothing changes because the base branch has work that this branch hasn't seen; empty where that isn't so."""
    left = {reason.address for reason in plan.reasons if reason.code == "BaseMoved" and reason.address is not None}
    if plan.actions or not left:
        return ""
    these, them = counted(len(left), "object"), "it" if len(left) == 1 else "them"
    are = "is" if len(left) == 1 else "are"
    return f"No changes: {these} {are} left alone, because the base branch has work on {them} that these files haven't."


def reason_lines(reason: BlockingReason, style: Style) -> Iterator[str]:
    """Code, object, message and fix of one reason."""
    where = f" {reason.address}" if reason.address is not None else ""
    field = f" ({reason.field})" if reason.field else ""
    yield f"  {style.paint(f'blocked[{reason.code}]', 'red', 'bold')}{where}{field}"
    yield from (f"    {line}" for line in reason.message.splitlines())
    first, *others = reason.fix.splitlines() or [""]
    if first:
        yield f"    {style.paint('fix:', 'bold')} {first}"
    yield from (f"    {line}" for line in others)


def _head(plan: Plan, style: Style) -> str:
    basis = plan.basis
    state = "no state yet" if basis.is_fresh_state else f"state serial {basis.serial}"
    state += f", as written down at {moment_text(basis.snapshot_at)}" if basis.snapshot_at is not None else ""
    base = f", against {basis.base_ref} at {basis.base_commit[:10]}" if basis.base_commit else ""
    return style.paint(f"Project {basis.project}, {state}{base}", "bold")


def _reasons(reasons: Iterable[BlockingReason], style: Style) -> Iterator[str]:
    for reason in reasons:
        yield from reason_lines(reason, style)


def burning_lines(plan: Plan) -> Iterator[str]:
    """Machines that bill while nothing desired explains them."""
    for one in plan.burning:
        since = f" since {moment_text(one.since)}" if one.since is not None else ""
        machine = f"machine {one.machine_id}" if one.machine_id else "perhaps a machine"
        yield f"{one.address}: {machine}, {one.rate_usd_per_hour.shown}/h{since}: {one.why}"


def _foot(plan: Plan, style: Style) -> Iterator[str]:
    yield style.paint(summary_line(plan), "bold")
    if plan.reasons:
        yield style.paint(f"Blocked by {counted(len(plan.reasons), 'reason')}.", "red", "bold")
    if plan.ignored_fields:
        yield f"{counted(plan.ignored_fields, 'difference')} left alone by ignore rules of the project."
    if plan.valid_until is not None:
        yield f"Prices count as current until {moment_text(plan.valid_until)}."
    yield f"planHash {plan_hash(plan)}"
