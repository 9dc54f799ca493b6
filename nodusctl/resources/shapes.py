"""One walk over the declarations of a kind, for everything that describes fields: schemas, ``explain``, mutability."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from nodusctl.documents.document import FieldPath
from nodusctl.resources.fields import FieldFacts
from nodusctl.resources.mutability import ChangeHint, Mutability
from nodusctl.resources.scalars import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldShape:
    """One declared field. ``kind`` says what it holds; ``inner`` is the model of an object or of the entries of a list."""

    name: str
    description: str
    rule: str
    mutability: Mutability | None
    hint: ChangeHint | None
    is_required: bool
    default: Any
    holds: str
    inner: type[BaseModel] | None
    scalar: Shape | None
    choices: tuple[Any, ...]
    bounds: Mapping[str, int]


@cache
def fields_of(model: type[BaseModel]) -> Mapping[str, FieldShape]:
    """All fields of a model by the names of the file, in the order they are declared."""
    return {(info.alias or name): _shape_of(info.alias or name, info) for name, info in model.model_fields.items()}


def fields_along(model: type[BaseModel], path: FieldPath) -> Iterator[FieldShape]:
    """The fields on the way down ``path``; list indexes and keys of open mappings are passed over; stops where none fits."""
    current: type[BaseModel] | None = model
    for step in path:
        if isinstance(step, int):
            continue
        if current is None or step not in fields_of(current):
            return
        field = fields_of(current)[step]
        yield field
        current = field.inner if field.holds in ("object", "list") else None


def model_at(model: type[BaseModel], path: FieldPath) -> type[BaseModel] | None:
    """The model of the mapping at ``path``, or None where there is none."""
    current: type[BaseModel] | None = model
    for step in path:
        if current is None:
            return None
        if isinstance(step, int):
            continue
        field = fields_of(current).get(step)
        current = field.inner if field is not None else None
    return current


def _shape_of(name: str, info: FieldInfo) -> FieldShape:
    extra = info.json_schema_extra
    facts = extra.get("facts") if isinstance(extra, dict) else None
    known = facts if isinstance(facts, FieldFacts) else FieldFacts("", None, None)
    annotation, metadata = _unwrapped(info.annotation, list(info.metadata))
    holds, inner, scalar, choices = _holding(annotation, metadata)
    default = None if info.is_required() else _default_of(info)
    return FieldShape(
        name=name,
        description=info.description or "",
        rule=known.rule,
        mutability=known.mutability,
        hint=known.hint,
        is_required=info.is_required(),
        default=default,
        holds=holds,
        inner=inner,
        scalar=scalar,
        choices=choices,
        bounds=_bounds(metadata),
    )


def _default_of(info: FieldInfo) -> Any:
    if info.default_factory is None:
        return info.default
    return None


def _unwrapped(annotation: Any, metadata: list[Any]) -> tuple[Any, list[Any]]:
    """The annotation without Optional and Annotated, and all metadata on the way."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *more = get_args(annotation)
            metadata = [*metadata, *more]
        elif get_origin(annotation) in (Union, types.UnionType):
            inner = [part for part in get_args(annotation) if part is not type(None)]
            if len(inner) != 1:
                return annotation, metadata
            annotation = inner[0]
        else:
            return annotation, metadata


def _holding(annotation: Any, metadata: list[Any]) -> tuple[str, type[BaseModel] | None, Shape | None, tuple[Any, ...]]:
    scalar = next((part for part in metadata if isinstance(part, Shape)), None)
    if scalar is not None:
        return "scalar", None, scalar, ()
    if get_origin(annotation) is Literal:
        return "choice", None, None, get_args(annotation)
    if get_origin(annotation) is tuple:
        return _wrapping("list", get_args(annotation)[0])
    if get_origin(annotation) is dict:
        return _wrapping("map", get_args(annotation)[1])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "object", annotation, None, ()
    names: dict[Any, tuple[str, str]] = {str: ("string", "string"), int: ("integer", "integer"), bool: ("boolean", "boolean")}
    if annotation in names:
        label, json_type = names[annotation]
        return "scalar", None, Shape(label, {"type": json_type}), ()
    return "scalar", None, Shape("any value", {}), ()


def _wrapping(holds: str, entry: Any) -> tuple[str, type[BaseModel] | None, Shape | None, tuple[Any, ...]]:
    annotation, metadata = _unwrapped(entry, [])
    _, inner, scalar, choices = _holding(annotation, metadata)
    return holds, inner, scalar, choices


def _bounds(metadata: list[Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in metadata:
        match part:
            case Ge(ge=low):
                found["minimum"] = int(str(low))
            case Le(le=high):
                found["maximum"] = int(str(high))
            case MinLen(min_length=low):
                found["min_length"] = low
            case MaxLen(max_length=high):
                found["max_length"] = high
            case _:
                pass
    return found
