"""The part of a comment that is always there: what ends or is destroyed, and what blocks. Told at the greatest length there is room for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from nodusctl.base.ids import Address
from nodusctl.plan.plan import Plan
from nodusctl.render.comment_losses import (
    fitted_names,
    losses_of,
    told_by_kind,
    told_in_lines,
    told_together,
    told_with_notes,
    whole_names,
)
from nodusctl.render.comment_reasons import labels_of, told_by_code, told_by_name, told_shortly, told_whole
from nodusctl.render.comment_text import size_of

_SHARE = 0.75
"""Longer forms may take this part of the room, so that costs and changes are seen too; the shortest may take all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Always:
    """Lines of both sections. ``named`` are the objects they name; ``unnamed`` counts losses there was no room for, even shortened."""

    losses: tuple[str, ...]
    reasons: tuple[str, ...]
    named: frozenset[Address]
    unnamed: int = 0
    is_shortened: bool = False

    @property
    def size(self) -> int:
        """Characters, with a line break behind each line."""
        return sum(size_of(line) + 1 for line in (*self.losses, *self.reasons))


def always_there(plan: Plan, budget: int | None) -> Always:
    """The longest form that fits ``budget`` characters; without one the longest there is."""
    if budget is None:
        return _with_notes(plan, is_bounded=False)
    for make in _LONGER:
        made = make(plan)
        if made.size <= budget * _SHARE:
            return made
    for has_examples in (True, False):
        made = _fitted(plan, budget, has_examples=has_examples)
        if made.size <= budget and not made.unnamed:
            return made
    return made if made.size <= budget else _counts(plan)


def _with_notes(plan: Plan, *, is_bounded: bool = True) -> Always:
    return _named(plan, told_with_notes(losses_of(plan)), told_whole(plan.reasons, is_bounded=is_bounded))


def _in_lines(plan: Plan) -> Always:
    return _named(plan, told_in_lines(losses_of(plan)), told_shortly(plan.reasons))


def _together(plan: Plan) -> Always:
    return _named(plan, told_together(losses_of(plan)), told_by_code(plan.reasons))


def _by_kind(plan: Plan) -> Always:
    return _built(plan, whole_names(_addresses(plan)), has_examples=True)


_LONGER: tuple[Callable[[Plan], Always], ...] = (_with_notes, _in_lines, _together, _by_kind)


def _fitted(plan: Plan, budget: int, *, has_examples: bool) -> Always:
    """Each object once, names shortened as far as they must be; what blocks an object that is lost too stands with its loss."""
    addresses = _addresses(plan)
    frame = _built(plan, {}, has_examples=has_examples)
    names = fitted_names(addresses, budget - frame.size - 2 * (len(frame.losses) + len(frame.reasons)))
    made = _built(plan, names, has_examples=has_examples)
    lost = {loss.address for loss in losses_of(plan)}
    is_shortened = any(names[address] != address.name for address in names)
    return replace(made, named=frozenset(names), unnamed=len(lost - names.keys()), is_shortened=is_shortened)


def _built(plan: Plan, names: dict[Address, str], *, has_examples: bool) -> Always:
    losses, labels = losses_of(plan), labels_of(plan.reasons)
    told = [replace(one, consequence=f"{one.consequence}, {labels[one.address]}") if one.address in labels else one for one in losses]
    above = {loss.address for loss in losses}
    return _named(plan, told_by_kind(told, names), told_by_name(plan.reasons, names, above, has_examples=has_examples))


def _counts(plan: Plan) -> Always:
    """What is left where even the headings of the groups don't fit."""
    losses = losses_of(plan)
    lines = (f"- {len(losses)} changes end or destroy something.",) if losses else ()
    blocked = (f"- {len(plan.reasons)} reasons block it.",) if plan.reasons else ()
    return Always(losses=lines, reasons=blocked, named=frozenset(), unnamed=len(losses))


def _named(plan: Plan, losses: Iterable[str], reasons: Iterable[str]) -> Always:
    return Always(losses=tuple(losses), reasons=tuple(reasons), named=frozenset(_addresses(plan)))


def _addresses(plan: Plan) -> tuple[Address, ...]:
    """Every object of both sections once, losses first."""
    return tuple(dict.fromkeys(_each(plan)))


def _each(plan: Plan) -> Iterator[Address]:
    yield from (loss.address for loss in losses_of(plan))
    yield from (reason.address for reason in plan.reasons if reason.address is not None)
