"""Values to JSON text and back, by pydantic's TypeAdapter over the frozen dataclasses themselves.

No second set of classes describes what is stored. Adapters are built on first use (10 ms for the largest) and kept. Amounts are
decimal strings, times RFC 3339 with microseconds, durations ISO 8601. A field this version doesn't know is an error, never dropped:
a reader that forgets half a value would write the rest back.

The surprise: an adapter is made for ``kind | None``, because pydantic takes no configuration for a bare dataclass.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from nodusctl.attempts.events import Event
from nodusctl.store.faults import newer_value

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

EVENT_KINDS: Mapping[str, type] = {kind.__name__: kind for kind in get_args(Event)}
"""Every event by the name it is stored under."""


def encode(value: object) -> str:
    """JSON text of a frozen dataclass."""
    kind: Any = type(value)
    text: bytes = _adapter(kind).dump_json(value, fallback=_as_dict, warnings=False)
    return text.decode()


def decode(kind: type[T], text: str) -> T:
    """The value ``encode`` was given; UserError names the fields that don't fit this version."""
    wanted: Any = kind
    try:
        value: T = _adapter(wanted).validate_json(text)
    except ValueError as problem:
        raise newer_value(kind.__name__, _fields_of(problem)) from None
    return value


def _fields_of(problem: ValueError) -> str:
    """Where a value doesn't fit, without the value."""
    from pydantic import ValidationError

    faults = problem.errors(include_input=False) if isinstance(problem, ValidationError) else []
    return ", ".join(sorted({".".join(map(str, fault["loc"])) for fault in faults} - {""})) or "the whole"


def encode_event(event: Event) -> tuple[str, str]:
    """The event's kind and its JSON text."""
    return type(event).__name__, encode(event)


def decode_event(kind: str, text: str) -> Event:
    """The event ``encode_event`` was given."""
    known = EVENT_KINDS.get(kind)
    if known is None:
        raise newer_value("event", f"kind {kind}")
    event: Event = decode(known, text)
    return event


@lru_cache(maxsize=64)
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter

    wrapped: Any = kind | None
    return TypeAdapter(wrapped, config=ConfigDict(extra="forbid"))


def _as_dict(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no value that can be stored")
