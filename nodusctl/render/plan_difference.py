"""How a fresh plan differs from the reviewed one: the lines a reviewer would have to read again, and nothing else.

A price that moved its ceiling is told as a price, with what it was, what it is and by how much; everything else as the field it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nodusctl.base.money import Money
from nodusctl.plan.hashing import hashed_part
from nodusctl.plan.plan import Plan
from nodusctl.pricing.ceiling import shown_change
from nodusctl.render.plan_changes import shown_value
from nodusctl.state.terms import Terms

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
    terms_before, terms_after = (_terms_by_address(plan) for plan in (reviewed, fresh))
    for address in {**before, **after}:
        if address not in after:
            yield f"{address}: was to {before[address]['verb']}, is no longer in the plan"
        elif address not in before:
            yield f"{address}: to {after[address]['verb']}, was not in the reviewed plan"
        else:
            yield from _field_lines(address, before[address], after[address])
            yield from _offer_lines(address, terms_before[address], terms_after[address])
    if list(before) != list(after) and set(before) == set(after):
        yield "the order of the objects differs"


def _field_lines(address: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Fields by their paths. What was written says nothing new where the spec that follows from it says the same."""
    of_spec = dict(_leaf_lines("spec", before["spec"], after["spec"]))
    for name in {**before, **after}:
        for path, line in _leaf_lines(name, before.get(name), after.get(name)):
            if name != "applied" or path.replace("applied", "spec", 1) not in of_spec:
                yield f"{address} {line}"


def _by_address(plan: Plan) -> dict[str, Any]:
    """Each hashed Action by its address, without its offers."""
    actions = hashed_part(plan)["actions"]
    return {action["address"]: {key: value for key, value in action.items() if key not in {"address", "offers"}} for action in actions}


def _terms_by_address(plan: Plan) -> dict[str, dict[str, Terms]]:
    """The offers of each Action by their keys, in order."""
    return {str(action.address): {terms.offer_key: terms for terms in action.terms} for action in plan.actions}


def _offer_lines(address: str, before: Mapping[str, Terms], after: Mapping[str, Terms]) -> Iterator[str]:
    """Offers that came, went, or have another ceiling; then their order. A price under an unmoved ceiling is no difference."""
    for key in {**before, **after}:
        old, new = before.get(key), after.get(key)
        if old is None or new is None:
            yield f"{address} offer {key}: {_price(old)} -> {_price(new)}"
        elif old.ceiling_usd_per_hour != new.ceiling_usd_per_hour:
            yield f"{address} price of {key}: {_price(old)} -> {_price(new)}{_percent(old.rate_usd_per_hour, new.rate_usd_per_hour)}"
    if set(before) == set(after):
        yield from _lines(f"{address} order of offers", list(before), list(after))


def _price(terms: Terms | None) -> str:
    return f"{terms.rate_usd_per_hour.shown}/h (at most {terms.ceiling_usd_per_hour.shown}/h)" if terms is not None else "(absent)"


def _percent(before: Money, after: Money) -> str:
    return f", {shown_change(before, after)}" if before else ""


def _lines(path: str, before: Any, after: Any) -> Iterator[str]:
    yield from (line for _, line in _leaf_lines(path, before, after))


def _leaf_lines(path: str, before: Any, after: Any) -> Iterator[tuple[str, str]]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            yield from _leaf_lines(f"{path}.{key}", before.get(key), after.get(key))
    elif before != after:
        yield path, f"{path}: {shown_value(before)} -> {shown_value(after)}"
