"""From pydantic's errors to faults in our words.

pydantic finds all wrong fields at once; what it says is replaced here, because a person needs the nearest valid key and the
right spelling more than the name of a type. Values are shown only where ``show_values`` allows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from nodusctl.base.nearest import nearest
from nodusctl.documents.document import FieldPath, UnquotedNumber, dotted
from nodusctl.resources.faulting import Fault
from nodusctl.resources.shapes import fields_of, model_at

_QUOTED = re.compile(r"'([^']*)'|(?<![\w'])(\d+|True)(?![\w'])")
_GLUED = re.compile(r"([A-Za-z_][\w.-]*):(?=[^\s:/])")
_WANTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def faults_of(problem: ValidationError, model: type[BaseModel], base: FieldPath, *, show_values: bool = True) -> Iterator[Fault]:
    """Each wrong field once; ``base`` is the path of the mapping that ``model`` describes."""
    for details in problem.errors(include_url=False):
        yield _fault_of(details, model, base, show_values)


def null_faults(value: object, path: FieldPath) -> Iterator[Fault]:
    """A key or entry without a value, anywhere in ``value``."""
    if value is None:
        fix = "Remove the entry, or give it a value."
        if isinstance(path[-1], str):
            fix = _unglued(path[-1]) or f"Remove the key {path[-1]!r}, or give it a value."
        yield Fault(
            reason="Invalid", summary="A field has no value.", detail=f"{dotted(path)} is empty.", fix=fix, paths=(path,), at_key=True
        )
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from null_faults(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from null_faults(inner, (*path, index))


def _fault_of(details: ErrorDetails, model: type[BaseModel], base: FieldPath, show_values: bool) -> Fault:
    path: FieldPath = (*base, *(step for step in details["loc"] if step != "[key]"))
    is_key = "[key]" in details["loc"]
    context: Mapping[str, Any] = details.get("ctx", {})
    match details["type"]:
        case "refused":
            return Fault(
                reason=context["reason"],
                summary=context["summary"],
                detail=context["detail"] if show_values or is_key else "",
                fix=context["fix"],
                paths=(path,),
                at_key=is_key,
            )
        case "missing":
            return missing_field(path)
        case "extra_forbidden":
            return unknown_field(path, model, base)
        case "literal_error":
            return _not_among(path, details["input"], _choices(str(context.get("expected", ""))), show_values=show_values)
        case "too_long" | "too_short" | "string_too_long" | "string_too_short":
            return _wrong_length(path, context)
        case "greater_than_equal":
            return _out_of_range(path, details["input"], f"at least {context['ge']}")
        case "less_than_equal":
            return _out_of_range(path, details["input"], f"at most {context['le']}")
        case kind if kind in _WANTED:
            return wrong_type(path, details["input"], _WANTED[kind], show_values=show_values)
        case _:
            return Fault(reason="Invalid", summary="A field is not valid.", detail=details["msg"], paths=(path,))


def missing_field(path: FieldPath) -> Fault:
    """A required field that isn't written."""
    where = dotted(path[:-1]) or "the document"
    return Fault(
        reason="FieldValueRequired",
        summary="A required field is missing.",
        detail=f"{where} has no {path[-1]!r}.",
        fix=f"Add {path[-1]!r}.",
        paths=(path,),
    )


def unknown_field(path: FieldPath, model: type[BaseModel] | None, base: FieldPath = ()) -> Fault:
    """A key no field has, with the nearest one, or the place where this name belongs."""
    key, where = str(path[-1]), dotted(path[:-1])
    relative = path[len(base) : -1]
    owner = model_at(model, relative) if model is not None else None
    close = nearest(key, fields_of(owner)) if owner is not None else None
    elsewhere = [home for home in _fields_below(model) if home[:-1] != relative] if model is not None else []
    homes = {str(home[-1]): dotted((*base, *home)) for home in reversed(elsewhere)}
    fix = ""
    if glued := _unglued(key):
        fix = glued
    elif key in homes:
        fix = f"It belongs at {homes[key]}."
    elif close:
        fix = f"Did you mean {close!r}?"
    elif further := nearest(key, homes):
        fix = f"Did you mean {homes[further]!r}?"
    detail = f"{key!r} is no field of {where}."
    if owner is not None and not fix:
        fix = "Known here: " + ", ".join(fields_of(owner)) + "."
    return Fault(reason="Invalid", summary="A field is not known.", detail=detail, fix=fix, paths=(path,), at_key=True)


def _fields_below(model: type[BaseModel]) -> list[FieldPath]:
    """Paths of all fields, nearest to the top first; lists are not entered."""
    found: list[FieldPath] = []
    level: list[tuple[FieldPath, type[BaseModel]]] = [((), model)]
    while level:
        below: list[tuple[FieldPath, type[BaseModel]]] = []
        for path, owner in level:
            for name, field in fields_of(owner).items():
                found.append((*path, name))
                if field.holds == "object" and field.inner is not None:
                    below.append(((*path, name), field.inner))
        level = below
    return found


def wrong_type(path: FieldPath, value: object, wanted: str, *, show_values: bool = True) -> Fault:
    """A value of another type, with the spelling that would be right."""
    shown = _shown(value) if show_values else "The value"
    summary, detail = "A field has the wrong type.", f"{shown} is no value for this field; it is {wanted}."
    fix = ""
    if wanted == "a text" and isinstance(value, (int, UnquotedNumber)):
        summary = "A text is written without quotes."
        detail = f"{shown} without quotes is {'true or false' if isinstance(value, bool) else 'a number'} to YAML; this field is a text."
        fix = f'Quote it: "{str(value).lower() if isinstance(value, bool) else value}"' if show_values else "Quote it."
    elif wanted == "a whole number" and isinstance(value, str) and value.isdigit():
        fix = f"Write it without quotes: {value}" if show_values else ""
    elif wanted == "true or false" and isinstance(value, str):
        fix = "YAML 1.2 knows only true and false."
    elif wanted == "a list" and isinstance(value, str) and value.startswith("-"):
        fix = "Put a space after each dash."
    elif wanted == "a mapping":
        glued = _unglued(value) if isinstance(value, str) and show_values else ""
        fix = glued or "Write its fields into the lines below it, indented further, each as NAME: VALUE."
    elif wanted == "a list":
        fix = f"Write a list: [{value}]" if isinstance(value, str) and show_values and len(value) < 40 else "Write a list."
    elif isinstance(value, UnquotedNumber) and wanted == "a whole number":
        fix = "Write digits without leading zero, underscore, prefix or decimals."
    return Fault(reason="Invalid", summary=summary, detail=detail, fix=fix, paths=(path,))


def _unglued(text: str) -> str:
    """The fix of a text that would be a field if a space stood after its colon."""
    found = _GLUED.match(text)
    return f"Put a space after the colon of {found[1]}." if found else ""


def _not_among(path: FieldPath, value: object, choices: list[str], *, show_values: bool) -> Fault:
    allowed = ", ".join(choices)
    if isinstance(value, UnquotedNumber) and value.text in choices:  # an allowed value is no secret
        detail = f"{value.text} without quotes is the number {value.text.rstrip('0')} to YAML."
        return Fault(
            reason="Invalid", summary="A text is written without quotes.", detail=detail, fix=f'Quote it: "{value.text}"', paths=(path,)
        )
    if isinstance(value, (dict, list)):
        return wrong_type(path, value, f"one of {allowed}", show_values=show_values)
    close = nearest(str(value), choices)
    fix = f"Did you mean {close}?" if close else ""
    words = str(value).split()
    if len(words) > 1 and set(words) <= set(choices):
        fix = f"Put a comma between them: {', '.join(words)}"
    elif close == str(value):
        fix = f"Write {close} without quotes." if isinstance(value, str) else f'Quote it: "{close}"'
    written = f"{_shown(value)} was written" if show_values else "Something else was written"
    return Fault(
        reason="NotSupported",
        summary="A value is not one of those allowed.",
        detail=f"{written}; allowed: {allowed}.",
        fix=fix,
        paths=(path,),
    )


def _choices(expected: str) -> list[str]:
    return [quoted or {"True": "true"}.get(bare, bare) for quoted, bare in _QUOTED.findall(expected)]


def _wrong_length(path: FieldPath, context: Mapping[str, Any]) -> Fault:
    bound = f"at most {context['max_length']}" if "max_length" in context else f"at least {context['min_length']}"
    seen = f"{context['actual_length']} are written; " if "actual_length" in context else ""
    noun = "entries" if "field_type" in context else "characters"
    few = "max_length" not in context
    return Fault(
        reason="Invalid", summary=f"Too {'few' if few else 'many'} {noun}.", detail=f"{seen}{bound} {noun} are allowed.", paths=(path,)
    )


def _out_of_range(path: FieldPath, value: object, bound: str) -> Fault:
    return Fault(
        reason="Invalid", summary="A number is out of range.", detail=f"{_shown(value)} was written; allowed is {bound}.", paths=(path,)
    )


def _shown(value: object) -> str:
    """A value for a sentence: short, and never the inside of a mapping."""
    match value:
        case bool():
            return "true" if value else "false"
        case dict():
            return "A mapping"
        case list():
            return "A list"
        case None:
            return "An empty value"
        case str():
            return repr(value if len(value) <= 60 else value[:57] + "...")
        case _:
            return str(value)
