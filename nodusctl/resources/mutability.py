"""What may change in a written object, and what a change means for the machine that runs it.

The rule of a field is its own, else that of the nearest field around it that has one, else ANY (``objects.md``, column mut).
"""

from __future__ import annotations

from enum import StrEnum

from nodusctl.documents.document import FieldPath


class Mutability(StrEnum):
    """When a field may change."""

    ANY = "any time"
    IMMUTABLE = "never"
    RAISE_ONLY = "only upwards"
    NEXT_START = "any time; takes effect at the next start"
    ROLLS = "any time; rolls the workers"
    GROW_ONLY = "only larger"


class ChangeHint(StrEnum):
    """What a change of a field touches beside the object itself; the planner turns it into a change class."""

    NONE = "none"
    REPRICES = "re-prices"
    STARTS_OR_STOPS = "starts or stops"
    ENDS_SESSIONS = "ends sessions of removed keys"


def rule_for(kind: str, path: FieldPath) -> Mutability:
    """The mutability of ``path`` (it begins with ``spec``) of ``kind``, e.g. ``rule_for("Workspace", ("spec", "volume"))``.

    List indexes are ignored; a path that no field has is ANY.
    """
    rule = Mutability.ANY
    for facts in _facts_along(kind, path):
        rule = facts[0] or rule
    return rule


def hint_for(kind: str, path: FieldPath) -> ChangeHint:
    """What a change of ``path`` touches."""
    hint = ChangeHint.NONE
    for facts in _facts_along(kind, path):
        hint = facts[1] or hint
    return hint


def _facts_along(kind: str, path: FieldPath) -> list[tuple[Mutability | None, ChangeHint | None]]:
    from nodusctl.resources.kinds import KINDS
    from nodusctl.resources.shapes import fields_along

    if kind not in KINDS or not path or path[0] != "spec":
        return []
    return [(field.mutability, field.hint) for field in fields_along(KINDS[kind].spec_model, path[1:])]
