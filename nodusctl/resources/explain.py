"""The documentation of one field, from the same declarations that decode it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.nearest import nearest
from nodusctl.resources.annotations import ANNOTATIONS, PREFIX
from nodusctl.resources.kinds import KindFacts, kind_named, nearest_kind
from nodusctl.resources.metadata import ObjectMeta
from nodusctl.resources.mutability import Mutability, rule_for
from nodusctl.resources.project import ProjectSettings
from nodusctl.resources.schema import default_json
from nodusctl.resources.shapes import FieldShape, fields_of

_INDEX = re.compile(r"\[[^\]]*\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDoc:
    """What ``explain`` prints. ``fields`` are (name, type, description) of the fields below."""

    path: str
    type: str
    description: str
    default: str = ""
    rule: str = ""
    mutability: Mutability | None = None
    is_required: bool = False
    fields: tuple[tuple[str, str, str], ...] = ()


def explain(field_path: str) -> FieldDoc | Diagnostic:
    """The field called e.g. ``workspace.spec.idleTimeout``, ``ws.spec``, ``project.policy`` or ``nodus.dev/windows``."""
    text = _INDEX.sub("", field_path.strip())
    if PREFIX in text:
        return _annotation(text[text.index(PREFIX) :])
    first, *steps = text.split(".")
    if first.lower() in ("project", "nodusctl"):
        steps = steps[1:] if steps[:1] == ["yaml"] else steps
        return _walk(ProjectSettings, "project", steps, "What a folder of specs belongs to and may use.", kind=None)
    facts = kind_named(first)
    if facts is None:
        close = nearest_kind(first)
        fix = f"Did you mean {close.lower()}?" if close else "Begin with a kind, such as workspace.spec."
        return error("NotFound", "The kind is not known.", f"{first!r} names no kind.", fix, field=field_path)
    return _of_kind(facts, steps)


def _of_kind(facts: KindFacts, steps: list[str]) -> FieldDoc | Diagnostic:
    parts: Mapping[str, tuple[type[BaseModel], str]] = {
        "metadata": (ObjectMeta, "Names and bookkeeping."),
        "spec": (facts.spec_model, "What is wanted."),
        "status": (facts.status_model, "What was observed. Written by the program."),
    }
    if not steps:
        fields = tuple((name, "object", description) for name, (_, description) in parts.items())
        return FieldDoc(path=facts.singular, type="object", description=facts.description, fields=fields)
    if steps[0] not in parts:
        return _unknown(facts.singular, steps[0], [*parts, *fields_of(facts.spec_model)], in_spec=fields_of(facts.spec_model))
    model, description = parts[steps[0]]
    return _walk(model, f"{facts.singular}.{steps[0]}", steps[1:], description, kind=facts.kind if steps[0] == "spec" else None)


def _walk(model: type[BaseModel], path: str, steps: list[str], description: str, *, kind: str | None) -> FieldDoc | Diagnostic:
    current: type[BaseModel] | None = model
    field: FieldShape | None = None
    for step in steps:
        known = fields_of(current) if current is not None else {}
        if step not in known:
            return _unknown(path, step, known)
        field = known[step]
        path, current = f"{path}.{step}", field.inner
    below = tuple((name, type_name(inner), inner.description) for name, inner in fields_of(current).items()) if current is not None else ()
    if field is None:
        return FieldDoc(path=path, type="object", description=description, fields=below)
    default = default_json(field.default)
    return FieldDoc(
        path=path,
        type=type_name(field),
        description=field.description,
        default="" if default is None else _shown_default(default),
        rule=field.rule,
        mutability=rule_for(kind, ("spec", *steps)) if kind is not None else None,
        is_required=field.is_required,
        fields=below,
    )


def _annotation(key: str) -> FieldDoc | Diagnostic:
    facts = ANNOTATIONS.get(key.removeprefix(PREFIX).rstrip("\"']"))
    if facts is None:
        return _unknown("metadata.annotations", key, [PREFIX + name for name in ANNOTATIONS])
    return FieldDoc(
        path=f"metadata.annotations.{key}",
        type=facts.type,
        description=facts.description,
        rule=f"For example {facts.example!r}.",
        mutability=Mutability.ANY,
    )


def _unknown(
    path: str, step: str, known: Mapping[str, FieldShape] | list[str], *, in_spec: Mapping[str, FieldShape] | None = None
) -> Diagnostic:
    close = nearest(step, known)
    shown = f"{path}.spec.{close}" if in_spec and close in in_spec else f"{path}.{close}"
    fix = f"nodusctl explain {shown}" if close else f"nodusctl explain {path}"
    return error("NotFound", "The field is not known.", f"{path} has no field {step!r}.", fix, field=f"{path}.{step}")


def type_name(field: FieldShape) -> str:
    """The type for people: ``duration``, ``list of name``, ``Running | Stopped``."""
    if field.choices:
        inner = " | ".join("true" if choice is True else str(choice) for choice in field.choices)
    elif field.inner is not None:
        inner = "object"
    else:
        inner = field.scalar.name if field.scalar is not None else "any value"
    return {"list": f"list of {inner}", "map": f"map of {inner}"}.get(field.holds, inner)


def _shown_default(default: object) -> str:
    match default:
        case bool():
            return "true" if default else "false"
        case list():
            return ", ".join(str(entry) for entry in default) or "none"
        case _:
            return str(default)
