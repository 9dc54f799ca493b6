"""``world.yaml``: read with a place for every fault, and written once by ``sim init`` with all that can be changed in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError

from nodus_providers.simulated.world import World
from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.base.nearest import nearest
from nodusctl.documents.document import Document, FieldPath, UnquotedNumber, dotted
from nodusctl.documents.reading import read_mapping
from nodusctl.documents.writing import dump_yaml

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_HEADER = """\
# A simulated cloud. What happens in it (time, machines, disks, faults, calls) lies beside the state and not in this file.
# Zones, offers, times, billing, manners and quotas are yours to change; a change counts from the next command on.
# Also known: capacity and disk of an offer, quotas.machines, quotas.disks, manners.bootLimit.
"""


def load_world(path: Path, shown: str) -> World:
    """The world a file describes, or the default world where there is no file. UserError with all faults of the file.

    ``shown`` is the file's name for people.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return World()
    except OSError as problem:
        raise UserError(error("Invalid", "The world file can't be read", f"{shown}: {problem.strerror}.", field="world")) from None
    document, faults = read_mapping(shown, content)
    if document is None:
        raise UserError(*faults)
    try:
        return World.model_validate(_plain(document.value))
    except ValidationError as problem:
        raise UserError(*_diagnostics(document, problem)) from None


def world_text(world: World) -> str:
    """The file that describes ``world``."""
    return _HEADER + dump_yaml(world.model_dump(mode="json", by_alias=True, exclude_none=True))


def _plain(value: object) -> Any:
    if isinstance(value, UnquotedNumber):
        return _Unquoted(value.text)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value


class _Unquoted:
    """Fits no field, so that the field says what it wants."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _diagnostics(document: Document, problem: ValidationError) -> Iterator[Diagnostic]:
    for fault in problem.errors():
        path: FieldPath = tuple(fault["loc"])
        is_unknown = fault["type"] == "extra_forbidden"
        span, field = document.span(path, key=is_unknown), dotted(path)
        if is_unknown:
            close = nearest(str(path[-1]), _keys_at(path[:-1]))
            fix = f"Did you mean {close}?" if close else "Known keys: " + ", ".join(_keys_at(path[:-1])) + "."
            yield error("Invalid", "A key of the world file is unknown", f"{field} is nothing a world has.", fix, span=span, field=field)
        else:
            yield error("Invalid", "A value of the world file is wrong", _sentence(field, fault), span=span, field=field)


def _sentence(field: str, fault: ErrorDetails) -> str:
    reason = fault["msg"].removeprefix("Value error, ")
    return f"{field}: {reason}." if field else f"{reason}."


def _keys_at(path: FieldPath) -> tuple[str, ...]:
    model: type[BaseModel] | None = World
    for step in path:
        if model is not None and isinstance(step, str):
            model = next((_model_in(field.annotation) for field in model.model_fields.values() if field.alias == step), None)
    return tuple(field.alias or name for name, field in model.model_fields.items()) if model else ()


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and not get_args(annotation) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for found in map(_model_in, get_args(annotation)) if found is not None), None)
