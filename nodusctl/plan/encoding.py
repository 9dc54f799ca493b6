"""Plan values as JSON and back, driven by their type hints, so that a new field needs no second description.

Amounts, durations and addresses become the texts people write (``4.40``, ``8h``, ``workspace/lab``); names become camelCase. Knows no
file and no digest.

The surprise: a field that equals its default is left out, so a file made before a field existed reads as one that never used it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from nodusctl.base.durations import format_duration, parse_duration
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.base.timestamps import format_time, parse_time

T = TypeVar("T")
Decoder = Callable[[Any], Any]
_SPELLED = {"usd": "USD", "gib": "GiB"}


def as_json(value: Any) -> Any:
    """``value`` as dict, list, str, int, bool and None. TypeError for what has no form here (floats among it)."""
    match value:
        case None | bool() | str() | int():
            return value.value if isinstance(value, Enum) else value
        case Money() | Address():
            return str(value)
        case datetime():
            return format_time(value)
        case timedelta():
            return format_duration(value)
        case Mapping():
            return {str(key): as_json(inner) for key, inner in value.items()}
        case tuple() | list():
            return [as_json(inner) for inner in value]
        case frozenset() | set():
            return sorted(as_json(inner) for inner in value)
    if dataclasses.is_dataclass(value):
        return _fields_as_json(value)
    raise TypeError(f"{type(value).__name__} has no JSON form in a plan")


def from_json(wanted: type[T], document: Any) -> T:
    """The value of type ``wanted`` that ``document`` describes; ValueError where it describes none."""
    try:
        read: T = _decoder(wanted)(document)
    except (KeyError, TypeError, AttributeError) as problem:
        raise ValueError(f"not a {getattr(wanted, '__name__', wanted)}: {problem}") from problem
    return read


def _fields_as_json(value: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    kind: Any = type(value)
    for name, key, default in _fields_of(kind):
        inner = getattr(value, name)
        if default is dataclasses.MISSING or inner != default:
            shown[key] = as_json(inner)
    return shown


@cache
def _fields_of(wanted: Any) -> tuple[tuple[str, str, Any], ...]:
    return tuple((f.name, camel(f.name), _default(f)) for f in dataclasses.fields(wanted))


def _default(one: dataclasses.Field[Any]) -> Any:
    if one.default_factory is not dataclasses.MISSING:
        return one.default_factory()
    return one.default


def camel(name: str) -> str:
    """A field's name as it is written: ``rate_usd_per_hour`` is ``rateUSDPerHour``."""
    head, *rest = name.split("_")
    return head + "".join(_SPELLED.get(word, word.capitalize()) for word in rest)


def _decoder(wanted: Any) -> Decoder:
    return _cached_decoder(wanted)


@cache
def _cached_decoder(wanted: Any) -> Decoder:
    """How a value of ``wanted`` is read; built once a type."""
    simple: dict[Any, Decoder] = {
        Any: lambda document: document,
        Money: lambda text: -Money.parse(text[1:]) if text.startswith("-") else Money.parse(text),
        Address: Address.parse,
        datetime: parse_time,
        timedelta: parse_duration,
    }
    if wanted in simple:
        return simple[wanted]
    if get_origin(wanted) is not None or isinstance(wanted, UnionType):
        return _generic_decoder(wanted)
    if dataclasses.is_dataclass(wanted):
        return _dataclass_decoder(wanted)
    if issubclass(wanted, Enum):
        read_enum: Decoder = wanted
        return read_enum
    return _plain_decoder(wanted)


def _plain_decoder(wanted: type) -> Decoder:
    def read(document: Any) -> Any:
        if type(document) is not wanted:
            raise ValueError(f"{document!r} is no {wanted.__name__}")
        return document

    return read


def _generic_decoder(wanted: Any) -> Decoder:
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (Union, UnionType):
        inner = _decoder(next(argument for argument in arguments if argument is not NoneType))
        return lambda document: None if document is None else inner(document)
    if origin is tuple:
        return _tuple_decoder(arguments)
    if origin is frozenset:
        member = _decoder(arguments[0])
        return lambda document: frozenset(member(one) for one in document)
    value_of = _decoder(arguments[1])
    if arguments[0] is Address:
        return lambda document: {Address.parse(key): value_of(inner) for key, inner in document.items()}
    return lambda document: {key: value_of(inner) for key, inner in document.items()}


def _tuple_decoder(arguments: tuple[Any, ...]) -> Decoder:
    if arguments[-1] is Ellipsis:
        member = _decoder(arguments[0])
        return lambda document: tuple(member(one) for one in document)
    members = [_decoder(argument) for argument in arguments]
    return lambda document: tuple(read(one) for read, one in zip(members, document, strict=True))


def _dataclass_decoder(wanted: Any) -> Decoder:
    hints = get_type_hints(wanted)
    decoders = {camel(f.name): (f.name, hints[f.name]) for f in dataclasses.fields(wanted)}

    def read(document: Any) -> Any:
        unknown = set(document) - set(decoders)
        if unknown:
            raise ValueError(f"{wanted.__name__} has no field {sorted(unknown)[0]!r}")
        return wanted(**{decoders[key][0]: _decoder(decoders[key][1])(inner) for key, inner in document.items()})

    return read
