"""JSON Schema of what ``as_json`` writes, from the same type hints, so that a new field of a plan is described the moment it exists.

Objects are open: a reader skips fields it doesn't know. A field is required where ``as_json`` never leaves it out, which is where it has no
default.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.plan.encoding import camel

Schema = dict[str, Any]

MONEY: Schema = {"type": "string", "pattern": r"^-?[0-9]+\.[0-9]{2,6}$", "description": "USD, 2 to 6 decimals."}
TIME: Schema = {"type": "string", "format": "date-time", "pattern": "Z$"}
ADDRESS: Schema = {"type": "string", "pattern": "^[a-z]+/.+$", "description": "kind/name."}
_TEXTS: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    Any: {},
    Money: MONEY,
    Address: ADDRESS,
    datetime: TIME,
    timedelta: {"type": "string", "pattern": "^[0-9]", "description": "A duration such as 8h or 90s."},
}


class Definitions:
    """Collects ``$defs`` while it describes types; a dataclass stands there once, under its name."""

    def __init__(self) -> None:
        self.found: dict[str, Schema] = {}

    def of(self, wanted: Any) -> Schema:
        """The schema of one type. TypeError for one that has no form in a plan."""
        if wanted in _TEXTS:
            return dict(_TEXTS[wanted])
        if get_origin(wanted) is not None or isinstance(wanted, UnionType):
            return self._generic(get_origin(wanted), get_args(wanted))
        if dataclasses.is_dataclass(wanted):
            return self._dataclass(wanted)
        if isinstance(wanted, type) and issubclass(wanted, Enum):
            return {"enum": [one.value for one in wanted]}
        raise TypeError(f"{wanted!r} has no schema in a plan")

    def _generic(self, origin: Any, arguments: tuple[Any, ...]) -> Schema:
        if origin in (Union, UnionType):
            inner = self.of(next(argument for argument in arguments if argument is not NoneType))
            return {"anyOf": [inner, {"type": "null"}]}
        if origin is tuple and arguments[-1] is not Ellipsis:
            members = [self.of(argument) for argument in arguments]
            return {"type": "array", "prefixItems": members, "items": False, "minItems": len(members)}
        if origin in (tuple, frozenset):
            return {"type": "array", "items": self.of(arguments[0])}
        return {"type": "object", "additionalProperties": self.of(arguments[1])}

    def _dataclass(self, wanted: Any) -> Schema:
        name = wanted.__name__
        if name not in self.found:
            self.found[name] = {}
            hints, fields = get_type_hints(wanted), dataclasses.fields(wanted)
            self.found[name] = {
                "type": "object",
                "required": [camel(one.name) for one in fields if not _has_default(one)],
                "properties": {camel(one.name): self.of(hints[one.name]) for one in fields},
            }
        return {"$ref": f"#/$defs/{name}"}


def _has_default(one: dataclasses.Field[Any]) -> bool:
    return one.default is not dataclasses.MISSING or one.default_factory is not dataclasses.MISSING
