"""What a changed field does to a person's day: the change class of each difference, and of the whole Action.

A class depends on the field's rule (``resources.mutability``) and on whether a machine is up: stopping what is stopped is free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from nodusctl.plan.changes import ChangeClass, FieldChange
from nodusctl.plan.facts import phase_class
from nodusctl.planner.diff import Difference
from nodusctl.planner.homes import dropped_by
from nodusctl.resources.kinds import KINDS, kind_named
from nodusctl.resources.mutability import ChangeHint, Mutability, hint_for, rule_for
from nodusctl.state.snapshot import Standing

_WEIGHT = {
    change_class: weight
    for weight, change_class in enumerate(
        (
            ChangeClass.FREE,
            ChangeClass.REPRICES,
            ChangeClass.NEXT_START,
            ChangeClass.ROLLS,
            ChangeClass.ENDS_SESSION,
            ChangeClass.RESTARTS,
            ChangeClass.REPLACES,
            ChangeClass.STARTS,
            ChangeClass.DESTROYS,
        )
    )
}


def field_change(kind: str, difference: Difference, standing: Standing) -> FieldChange:
    """One line of a plan. ``kind`` is the kind's own name (``Workspace``)."""
    dropped = _dropped_revisions(difference, standing)
    if dropped:
        note = f"drops revision{'s' if len(dropped) > 1 else ''} {', '.join(str(number) for number in dropped)}"
        return FieldChange(
            path=difference.dotted, before=difference.before, after=difference.after, change_class=ChangeClass.DESTROYS, note=note
        )
    change_class = _class_of(kind, difference, standing)
    rule = rule_for(kind, difference.field)
    waits = rule is Mutability.NEXT_START and change_class is ChangeClass.REPRICES
    note = ChangeClass.NEXT_START.value if waits and is_up(standing) else ""
    return FieldChange(path=difference.dotted, before=difference.before, after=difference.after, change_class=change_class, note=note)


def heaviest(classes: Iterable[ChangeClass]) -> ChangeClass:
    """The class that stands for an Action of several changes: the one a person must not miss."""
    return max(classes, key=lambda one: _WEIGHT[one], default=ChangeClass.FREE)


def is_up(standing: Standing) -> bool:
    """True while a machine of the object runs or is on its way."""
    return standing.record.address.kind in {"workspace", "function"} and phase_class(standing.status.phase) == "up"


def kind_of(singular: str) -> str:
    """``workspace`` → ``Workspace``: the name the kind's rules go by."""
    facts = kind_named(singular)
    return facts.kind if facts is not None and facts.kind in KINDS else ""


def _class_of(kind: str, difference: Difference, standing: Standing) -> ChangeClass:
    match hint_for(kind, difference.field):
        case ChangeHint.STARTS_OR_STOPS:
            return _state_class(difference, standing)
        case ChangeHint.ENDS_SESSIONS:
            is_removal = is_up(standing) and _loses_entries(difference)
            return ChangeClass.ENDS_SESSION if is_removal else ChangeClass.FREE
        case ChangeHint.REPRICES:
            return ChangeClass.REPRICES
        case ChangeHint.NONE:
            return _rule_class(rule_for(kind, difference.field), standing)
        case never:
            assert_never(never)


def _dropped_revisions(difference: Difference, standing: Standing) -> tuple[int, ...]:
    """What a lower limit drops at once."""
    if difference.dotted != "spec.revisionHistoryLimit" or standing.status.volume is None or not isinstance(difference.after, int):
        return ()
    return dropped_by(standing.status.volume.revisions, difference.after)


def _state_class(difference: Difference, standing: Standing) -> ChangeClass:
    if difference.after == "Stopped":
        return ChangeClass.ENDS_SESSION if is_up(standing) else ChangeClass.FREE
    return ChangeClass.FREE if is_up(standing) else ChangeClass.STARTS


def _rule_class(rule: Mutability, standing: Standing) -> ChangeClass:
    match rule:
        case Mutability.NEXT_START:
            return ChangeClass.NEXT_START
        case Mutability.ROLLS:
            return ChangeClass.ROLLS if is_up(standing) else ChangeClass.FREE
        case Mutability.ANY | Mutability.RAISE_ONLY | Mutability.GROW_ONLY | Mutability.IMMUTABLE:
            return ChangeClass.FREE
        case _:
            assert_never(rule)


def _loses_entries(difference: Difference) -> bool:
    """True where a named key is gone; an empty list means all keys, so writing the first name also takes some away."""
    before, after = difference.before, difference.after
    if isinstance(before, Mapping) or isinstance(after, Mapping):
        return True
    return bool(_entries(before) - _entries(after)) or not _entries(before)


def _entries(value: Any) -> set[str]:
    if isinstance(value, (list, tuple)):
        return {str(one) for one in value}
    return set() if value is None else {str(value)}
