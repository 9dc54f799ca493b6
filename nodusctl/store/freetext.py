"""Free text on its way into the state loses whatever the redactor knows or recognises.

Only fields that carry words (a provider's error, a remark, a memo) are cleaned: identities, tokens and public keys must come back
as they went in.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from nodusctl.base.redaction import clean

T = TypeVar("T")

WORDS = frozenset({"message", "detail", "last_detail", "reason", "outcome", "memo", "command"})
"""Names of the fields that hold free text, in any stored value."""


def without_secrets(value: T) -> T:
    """``value`` with its words cleaned, nested values included; the same object where nothing had to change."""
    changed: dict[str, Any] = {}
    for place in fields(value):  # type: ignore[arg-type]
        before = getattr(value, place.name)
        after = _cleaned(place.name, before)
        if after is not before:
            changed[place.name] = after
    return replace(value, **changed) if changed else value  # type: ignore[type-var]


def _cleaned(name: str, before: Any) -> Any:
    if isinstance(before, str):
        after = clean(before) if name in WORDS else before
        return before if after == before else after
    if isinstance(before, tuple):
        items = tuple(_cleaned(name, inner) for inner in before)
        return before if all(new is old for new, old in zip(items, before, strict=True)) else items
    if is_dataclass(before) and not isinstance(before, type):
        return without_secrets(before)
    return before
