"""How a fresh plan differs from the reviewed one: the lines a reviewer would have to read again, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nodusctl.plan.hashing import hashed_part
from nodusctl.plan.plan import Plan
from nodusctl.render.plan_changes import shown_value

_MOST_LINES = 40


def plan_difference_text(reviewed: Plan, fresh: Plan) -> str:
    """One line a field, ``reviewed -> now``; at most 40 of them."""
    lines = [*_basis_lines(reviewed, fresh), *_action_lines(reviewed, fresh)]
    more = len(lines) - _MOST_LINES
    return "\n".join([*lines[:_MOST_LINES], *([f"and {more} more"] if more > 0 else [])])


def _basis_lines(reviewed: Plan, fresh: Plan) -> Iterator[str]:
    before, after = hashed_part(reviewed), hashed_part(fresh)
    for name in ("project", "lineage", "serial", "allow"):
        yield from _lines(name, before[name], after[name])


def _action_lines(reviewed: Plan, fresh: Plan) -> Iterator[str]:
    before, after = (_by_address(plan) for plan in (reviewed, fresh))
    for address in {**before, **after}:
        if address not in after:
            yield f"{address}: was to {before[address]['verb']}, is no longer in the plan"
        elif address not in before:
            yield f"{address}: to {after[address]['verb']}, was not in the reviewed plan"
        else:
            yield from _lines(address, before[address], after[address])
    if list(before) != list(after) and set(before) == set(after):
        yield "the order of the objects differs"


def _by_address(plan: Plan) -> dict[str, Any]:
    """Each hashed Action; its offers by key, so that a price line names its offer."""
    found: dict[str, Any] = {}
    for action in hashed_part(plan)["actions"]:
        offers = {key: f"up to ${ceiling}/h" for key, ceiling in action.pop("offers")}
        found[action.pop("address")] = {**action, "offer": offers, "order of offers": list(offers)}
    return found


def _lines(path: str, before: Any, after: Any) -> Iterator[str]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            yield from _lines(f"{path} {key}", before.get(key), after.get(key))
    elif before != after:
        yield f"{path}: {shown_value(before)} -> {shown_value(after)}"
