"""The changes of a plan as parts a comment may show: fields, a row of costs, next openings of an object. And which of them it shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nodusctl.base.ids import Address
from nodusctl.plan.actions import Action
from nodusctl.plan.plan import Plan
from nodusctl.render.comment_costs import cost_rows
from nodusctl.render.comment_losses import is_grave
from nodusctl.render.comment_text import block_lines, cell, row, size_of, word_cell
from nodusctl.render.plan_changes import action_lines, costs_by_address, refused_fields
from nodusctl.render.style import PLAIN
from nodusctl.render.timetables import opening_rows

MOST_TIMETABLES = 20
_LARGEST_SHARE = 4
"""One change may take a quarter of the room; of a larger one the first fields are shown and the others counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One object's. ``action`` is None for a row of the cost table without a change; ``rank`` orders the choice, not the page."""

    address: Address
    action: Action | None = None
    block: tuple[str, ...] = ()
    cost: str = ""
    openings: tuple[str, ...] = ()
    rank: int

    @property
    def size(self) -> int:
        """Characters, with a line break behind each line."""
        return sum(size_of(line) + 1 for line in (*self.block, *([self.cost] if self.cost else []), *self.openings))


def parts_of(plan: Plan, room: int | None) -> tuple[Part, ...]:
    """A part an Action, in the order of the plan, then what has a row of costs or openings and no Action."""
    costs, rows, openings = costs_by_address(plan.costs), cost_rows(plan), dict(_openings(plan))
    blocked = refused_fields(plan.reasons)
    parts = []
    for action in plan.actions:
        lines = block_lines(action_lines(action, costs.get(action.address), PLAIN, blocked.get(action.address, ())))
        block = tuple(lines if room is None else _bounded(lines, room // _LARGEST_SHARE))
        rank = 0 if is_grave(action) else 1 if action.address in blocked else 2
        cost, opens = rows.pop(action.address, ""), openings.pop(action.address, ())
        parts.append(Part(address=action.address, action=action, block=block, cost=cost, openings=opens, rank=rank))
    for address in dict.fromkeys((*rows, *openings)):
        parts.append(Part(address=address, cost=rows.get(address, ""), openings=openings.get(address, ()), rank=3))
    return tuple(parts)


def chosen(parts: Sequence[Part], room: int) -> tuple[Part, ...]:
    """Those that fit into ``room`` characters: by rank, then in order; in the order they were given."""
    left, shown = room, set()
    for position in sorted(range(len(parts)), key=lambda one: (parts[one].rank, one)):
        if parts[position].size <= left:
            left -= parts[position].size
            shown.add(position)
    return tuple(part for position, part in enumerate(parts) if position in shown)


def without_last(parts: Sequence[Part]) -> tuple[Part, ...]:
    """One fewer: that which was chosen last."""
    last = max(range(len(parts)), key=lambda one: (parts[one].rank, one))
    return tuple(part for position, part in enumerate(parts) if position != last)


def _bounded(lines: Sequence[str], most: int) -> Iterable[str]:
    """The first lines that fit into ``most`` characters; a line that is longer than that itself ends in how much of it is missing."""
    if sum(size_of(line) + 1 for line in lines) <= most:
        return lines
    kept: list[str] = []
    left = most - 80
    for line in lines:
        shown = line if len(line) <= most // 4 else f"{line[: most // 4]}… and {len(line) - most // 4} characters more"
        left -= size_of(shown) + 1
        if left < 0:
            break
        kept.append(shown)
    return [*kept, f"     … and {len(lines) - len(kept)} lines more of this change"] if len(kept) < len(lines) else kept


def _openings(plan: Plan) -> Iterator[tuple[Address, tuple[str, ...]]]:
    for one in plan.timetables[:MOST_TIMETABLES]:
        rows = tuple(row([cell(name), *(word_cell(text) for text in others)]) for name, *others in opening_rows([one]))
        if rows:
            yield one.address, rows
