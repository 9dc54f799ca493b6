"""Free text on its way into the state loses whatever the redactor knows or recognises.

Only fields that carry words (a provider's error, a remark, a memo) are cleaned: identities, tokens and public keys must come back
as they went in.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

from nodusctl.base.money import Money
from nodusctl.base.redaction import clean

T = TypeVar("T")

WORDS = frozenset({"message", "detail", "last_detail", "reason", "outcome", "memo", "command"})
"""Names of the fields that hold free text, in any stored value."""
_WORDLESS = frozenset({type(None), bool, int, datetime, timedelta, Money, MappingProxyType, dict})
"""Types no words are cleaned in."""


def without_secrets(value: T) -> T:
    """``value`` with its words cleaned, nested values included; the same object where nothing had to change."""
    changed: dict[str, Any] = {}
    kind: Any = type(value)
    for name in _names(kind):
        before = getattr(value, name)
        if type(before) in _WORDLESS or (type(before) is str and name not in WORDS):
            continue
        after = _cleaned(name, before)
        if after is not before:
            changed[name] = after
    return replace(value, **changed) if changed else value  # type: ignore[type-var]


def _storable(text: str) -> str:
    """A platform's message may hold bytes that were never text; they become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


@lru_cache(maxsize=128)
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(place.name for place in fields(kind))


def _cleaned(name: str, before: Any) -> Any:
    if isinstance(before, str):
        after = clean(_storable(before)) if name in WORDS else before
        return before if after == before else after
    if isinstance(before, tuple):
        items = tuple(_cleaned(name, inner) for inner in before)
        return before if all(new is old for new, old in zip(items, before, strict=True)) else items
    if is_dataclass(before) and not isinstance(before, type):
        return without_secrets(before)
    return before
