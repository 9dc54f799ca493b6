"""JSON Schemas (2020-12) of the kinds and of the project file, for editors and for people.

Made from the declarations alone and written out in full, without references, so that every property stands under its own
name. The bytes depend on nothing but the declarations. Short forms are accepted where decoding accepts them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel

from nodusctl.base.durations import format_duration
from nodusctl.base.money import Money
from nodusctl.base.timestamps import format_time
from nodusctl.resources.annotations import ANNOTATIONS, PREFIX
from nodusctl.resources.fields import SpecModel
from nodusctl.resources.kinds import API_VERSION, KINDS, KindFacts
from nodusctl.resources.metadata import ObjectMeta
from nodusctl.resources.mutability import Mutability
from nodusctl.resources.project import ProjectSettings
from nodusctl.resources.shapes import FieldShape, fields_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ID = "https://nodus.dev/schemas/nodusctl/"
PROJECT_SCHEMA = "project.json"
_GPU_SHORT = r"^[A-Za-z0-9][A-Za-z0-9._-]*!?(:[1248])?!?$"
_NAME_SHORT = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_SHORT_FORMS = {"GPURequest": _GPU_SHORT, "SecretMount": _NAME_SHORT}

Schema = dict[str, Any]


def schema_for(kind: str) -> Schema:
    """The schema of a document of ``kind``; KeyError for an unknown kind."""
    facts = KINDS[kind]
    spec = schema_of(facts.spec_model)
    if kind == "Workspace":
        spec["anyOf"] = [{"required": ["volume"]}, {"required": ["ephemeral"]}]
    needs_spec = kind == "Workspace" or bool(spec.get("required"))
    return {
        "$schema": DIALECT,
        "$id": f"{_ID}{schema_file_name(facts)}",
        "title": kind,
        "description": facts.description,
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", *(["spec"] if needs_spec else [])],
        "additionalProperties": False,
        "properties": {
            "apiVersion": {"const": API_VERSION, "description": "Group and version."},
            "kind": {"const": kind, "description": "Kind of the object."},
            "metadata": _metadata_schema(),
            "spec": {"description": "What is wanted.", **spec},
            "status": {"description": "What was observed. Written by the program; ignored in a file.", **schema_of(facts.status_model)},
        },
    }


def project_schema() -> Schema:
    """The schema of nodusctl.yaml. Settings of a provider have a schema of their own, by its type."""
    schema = schema_of(ProjectSettings)
    entry = schema["properties"]["providers"]["additionalProperties"]
    entry["additionalProperties"] = True
    return {
        "$schema": DIALECT,
        "$id": f"{_ID}{PROJECT_SCHEMA}",
        "title": "nodusctl.yaml",
        "description": "What a folder of specs belongs to and may use.",
        **schema,
    }


def schema_text(kind: str) -> str:
    """The schema of ``kind`` as it stands in its file: indented, ending in a newline, the same bytes every time."""
    return _text(schema_for(kind))


def all_schemas() -> Mapping[str, str]:
    """File name to content, for every kind a person may meet and the project file; sorted by name."""
    files = {schema_file_name(facts): schema_text(kind) for kind, facts in KINDS.items()}
    files[PROJECT_SCHEMA] = _text(project_schema())
    return dict(sorted(files.items()))


def schema_file_name(facts: KindFacts) -> str:
    """``workspace.json``."""
    return f"{facts.singular}.json"


def schema_of(model: type[BaseModel]) -> Schema:
    """The schema of one mapping; parts of a spec are closed."""
    fields = fields_of(model)
    schema: Schema = {"type": "object"}
    required = [name for name, field in fields.items() if field.is_required]
    if required:
        schema["required"] = required
    if issubclass(model, SpecModel) or model is ObjectMeta:
        schema["additionalProperties"] = False
    schema["properties"] = {name: _field_schema(field) for name, field in fields.items()}
    return schema


def _field_schema(field: FieldShape) -> Schema:
    schema: Schema = {"description": description_of(field), **_body(field)}
    if (default := default_json(field.default)) is not None:
        schema["default"] = default
    return schema


def _body(field: FieldShape) -> Schema:
    match field.holds:
        case "object" if field.inner is not None:
            return _with_short_form(field.inner)
        case "list":
            return {"type": "array", "items": _entry(field), **_renamed(field.bounds, min_length="minItems", max_length="maxItems")}
        case "map":
            return {"type": "object", "additionalProperties": _entry(field)}
        case _:
            return {**_entry(field), **_renamed(field.bounds, min_length="minLength", max_length="maxLength")}


def _entry(field: FieldShape) -> Schema:
    if field.inner is not None:
        return _with_short_form(field.inner)
    if field.choices:
        return {"enum": list(field.choices)}
    return dict(field.scalar.schema) if field.scalar is not None else {}


def _with_short_form(model: type[BaseModel]) -> Schema:
    schema = schema_of(model)
    pattern = _SHORT_FORMS.get(model.__name__)
    return {**schema, "type": ["object", "string"], "pattern": pattern} if pattern else schema


def _renamed(bounds: Mapping[str, int], **names: str) -> Schema:
    return {names.get(name, name): bound for name, bound in bounds.items()}


def _metadata_schema() -> Schema:
    schema = schema_of(ObjectMeta)
    schema["required"] = ["name"]
    known = {
        PREFIX + name: {"type": "string", "description": facts.description, "examples": [facts.example]}
        for name, facts in ANNOTATIONS.items()
    }
    annotations = schema["properties"]["annotations"]
    annotations["properties"] = known
    annotations["propertyNames"] = {"anyOf": [{"enum": list(known)}, {"not": {"pattern": "^nodus\\.dev/"}}]}
    return {"description": "Names and bookkeeping.", **schema}


def description_of(field: FieldShape) -> str:
    """Description, rule and, where it isn't simply any time, when the field may change."""
    parts = [field.description, field.rule]
    if field.mutability is not None and field.mutability is not Mutability.ANY:
        parts.append(f"Change: {field.mutability.value}.")
    return " ".join(part for part in parts if part)


def default_json(value: Any) -> Any:
    """A default as JSON; None where there is none to show."""
    match value:
        case timedelta():
            return format_duration(value)
        case datetime():
            return format_time(value)
        case Money():
            return str(value)
        case tuple():
            return [default_json(entry) for entry in value]
        case BaseModel():
            return value.model_dump(mode="json", by_alias=True, exclude_none=True)
        case _:
            return value


def _text(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
