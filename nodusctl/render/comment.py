"""A plan as one pull-request comment: the verdict, what can be lost and what blocks first and always, the rest as far as it fits.

A change is shown whole (its fields, its row of costs, its next openings) or left out whole, and how many are left out is counted. Nothing
is cut inside a fence or a row, because what doesn't fit was never put there. The surprise: the order in which changes are chosen is not
the order they stand in; what ends or destroys something is chosen first, then what is blocked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from nodusctl.base.redaction import clean
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan
from nodusctl.render.comment_always import Always, always_there
from nodusctl.render.comment_apply import Applying, apply_lines
from nodusctl.render.comment_costs import cost_head, cost_total
from nodusctl.render.comment_forms import Form
from nodusctl.render.comment_losses import is_grave
from nodusctl.render.comment_parts import MOST_TIMETABLES, Part, chosen, parts_of, without_last
from nodusctl.render.comment_reasons import consequence_of
from nodusctl.render.comment_remarks import remarks_of
from nodusctl.render.comment_running import not_named, running_head, running_lines
from nodusctl.render.comment_text import fence_for, fenced, size_of, span, table_head
from nodusctl.render.comment_verdict import by_verb, counts_of, counts_text, foot_text, verdict_lines
from nodusctl.render.plan_costs import FOOTNOTE, priced_lines
from nodusctl.render.timetables import OPENING_HEADS

_REMARKS_SHARE = 6
"""Remarks may take a sixth of what the fixed parts leave."""
_RUNNING_SHARE = 12
"""And the names of what runs on a twelfth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """``size`` is what forges count, in characters; ``left_out`` how many changes have no word in it."""

    body: str
    size: int
    left_out: int


def plan_comment(plan: Plan, form: Form, applying: Applying | None = None, stale: str = "") -> Comment:
    """The comment. ``stale`` is why the plan can't be applied any more, empty where it can as far as is known."""
    page = _Page(
        plan=plan,
        form=form,
        applying=applying or Applying(),
        stale=stale,
        parts=parts_of(plan, form.room),
        remarks=remarks_of(plan),
        running=running_lines(plan),
    )
    room = form.room
    if room is None:
        page = replace(page, always=always_there(plan, None), shown=page.parts, told=page.remarks, running_on=page.running)
        return page.comment()
    bare = size_of(page.frame())
    page = replace(page, always=always_there(plan, room - bare))
    left = room - size_of(page.frame())
    told = _as_many(page.remarks, left // _REMARKS_SHARE)
    running_on = _as_many(page.running, left // _RUNNING_SHARE)
    taken = sum(size_of(line) + 1 for line in (*told, *running_on))
    page = replace(page, told=told, running_on=running_on, shown=chosen(page.parts, left - taken))
    made = page.comment()
    while made.size > room and (page.shown or page.told or page.running_on):
        page = page.smaller()
        made = page.comment()
    return made


def plan_markdown(plan: Plan, applying: Applying | None = None, stale: str = "") -> str:
    """The same without an end and without a mark: for a file, or for a comment somebody posts by other means."""
    return plan_comment(plan, Form(), applying, stale).body


def _as_many(lines: Sequence[str], room: int) -> tuple[str, ...]:
    kept: list[str] = []
    for line in lines:
        room -= size_of(line) + 1
        if room < 0:
            break
        kept.append(line)
    return tuple(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """A comment under way. ``frame`` has every heading and the longest counts, and none of the parts."""

    plan: Plan
    form: Form
    applying: Applying
    stale: str
    parts: tuple[Part, ...]
    remarks: tuple[str, ...]
    always: Always = field(default_factory=lambda: Always(losses=(), reasons=(), named=frozenset()))
    shown: tuple[Part, ...] = ()
    told: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    running_on: tuple[str, ...] = ()

    def smaller(self) -> _Page:
        """The page with one thing less: what runs on goes first, then changes, then remarks."""
        if self.running_on:
            return replace(self, running_on=self.running_on[:-1])
        return replace(self, shown=without_last(self.shown)) if self.shown else replace(self, told=self.told[:-1])

    def comment(self) -> Comment:
        body = clean("\n".join(self._lines(is_frame=False)))
        return Comment(body=body, size=size_of(body), left_out=len(self._left_out()))

    def frame(self) -> str:
        """As long as the page without its parts can get."""
        return clean("\n".join(self._lines(is_frame=True)))

    def _lines(self, *, is_frame: bool) -> Iterator[str]:
        mark = self.form.mark_line
        yield from [mark, ""] if mark else []
        yield from verdict_lines(self.plan, self.stale)
        yield from by_verb(self.plan) if is_frame or not self._left_out() else ()
        yield from self._left_out_lines(is_frame=is_frame)
        yield from self._losses()
        yield from self._reasons()
        yield from self._costs(is_frame=is_frame)
        yield from self._openings(is_frame=is_frame)
        yield from ("", "#### How to apply it", "", *apply_lines(self.plan, self.applying), "")
        yield from self._changes(is_frame=is_frame)
        yield from self._running(is_frame=is_frame)
        yield from self._remarks(is_frame=is_frame)
        yield f"planHash {span(plan_hash(self.plan))}"
        yield foot_text(self.plan)

    def _left_out(self) -> list[Part]:
        there = {part.address for part in self.shown} | self.always.named
        return [part for part in self.parts if part.action is not None and part.address not in there]

    def _unnamed(self) -> list[Part]:
        return [part for part in self._left_out() if part.action is not None and is_grave(part.action)]

    def _left_out_lines(self, *, is_frame: bool) -> Iterator[str]:
        left = [part for part in self.parts if part.action is not None] if is_frame else self._left_out()
        whole = f"The whole plan: {span(self._whole())}"
        if left and (is_frame or self.form.limit is not None):
            counts = counts_text(counts_of(part.action for part in left if part.action is not None))
            yield from ("", f"**{len(left)} changes left out** for the size of a comment: {counts}. {whole}")
        unnamed = len(self.parts) if is_frame else len(self._unnamed())
        if unnamed:
            yield from ("", f"**{unnamed} changes that end or destroy something aren't even named.** Read them before you approve. {whole}")
        if self.always.is_shortened or is_frame:
            yield from ("", f"Long names are shortened in the middle. {whole}")

    def _whole(self) -> str:
        return f"nodusctl show {self.applying.shown_file}" if self.applying.file else "nodusctl plan"

    def _losses(self) -> Iterator[str]:
        yield from ("", "#### What could be lost", "")
        if not self.plan.actions:
            yield "Nothing changes, so nothing."
        elif not self.always.losses:
            yield "Nothing is destroyed, ended or restarted."
        yield from self.always.losses

    def _reasons(self) -> Iterator[str]:
        yield from ("", "#### What blocks it", "", consequence_of(self.plan.reasons))
        if self.always.reasons:
            yield ""
        yield from self.always.reasons

    def _costs(self, *, is_frame: bool) -> Iterator[str]:
        rows = {part.address: part.cost for part in self.parts if part.cost}
        shown = [part.cost for part in self.shown if part.cost]
        if not rows:
            return
        yield from ("", "#### What it costs", "", *cost_head(), *shown)
        yield from filter(None, [cost_total(self.plan, rows)])
        if is_frame or len(shown) < len(rows):
            yield from ("", f"{len(rows) - len(shown)} rows left out; the total is over all {len(rows)}.")
        yield from ("", FOOTNOTE) if priced_lines(self.plan) else ()
        if self.plan.comparison is not None:
            yield "Change against now: this plan's rate minus the rate approved before it, taken for 730 h a month without a stop."

    def _openings(self, *, is_frame: bool) -> Iterator[str]:
        shown = [line for part in self.shown for line in part.openings]
        there = sum(1 for part in self.shown if part.openings)
        if is_frame or shown:
            yield from ("", "#### Next windows", "", *table_head([head.lower() for head in OPENING_HEADS]), *shown)
        missing = len([one for one in self.plan.timetables if one.openings]) - there
        if missing or is_frame:
            yield from ("", f"{missing} Workspaces with windows aren't listed; at most {MOST_TIMETABLES} are.")

    def _changes(self, *, is_frame: bool) -> Iterator[str]:
        blocks = [part.block for part in self.shown if part.block]
        if not blocks and not is_frame:
            return
        fence = fence_for(line for part in self.parts for line in part.block)
        count = len(self.parts) if is_frame else len(blocks)
        yield from self._folded(
            f"Every field of {count} changes", fenced([line for block in blocks for line in block], fence=fence, language="diff")
        )

    def _running(self, *, is_frame: bool) -> Iterator[str]:
        if not self.running or (not self.running_on and not is_frame):
            return
        lines = fenced(self.running_on, fence=fence_for(self.running), language="text")
        missing = not_named(self.plan, () if is_frame else self.running_on)
        yield from self._folded(running_head(self.plan), [*lines, *(["", missing] if missing else [])])

    def _remarks(self, *, is_frame: bool) -> Iterator[str]:
        if not self.remarks or (not self.told and not is_frame):
            return
        missing = len(self.remarks) - len(self.told)
        lines = fenced(self.told, fence=fence_for(self.remarks), language="text")
        yield from self._folded("Remarks and warnings", [*lines, *(["", f"{missing} remarks left out."] if missing or is_frame else [])])

    def _folded(self, summary: str, lines: Sequence[str]) -> Iterator[str]:
        if self.form.can_fold:
            yield from (f"<details><summary>{summary}</summary>", "", *lines, "", "</details>", "")
        else:
            yield from (f"#### {summary}", "", *lines, "")
