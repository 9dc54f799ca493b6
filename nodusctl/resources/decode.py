"""From Documents to Resources: every fault of every document at once, each at its place.

A document with a fault gives no Resource, but its name still counts for duplicates, so that mending one fault never brings
up the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from nodusctl.base.diagnostics import Diagnostic, error, in_order, note
from nodusctl.base.ids import Address
from nodusctl.documents.document import Document, FieldPath
from nodusctl.resources.cross_rules import between_fields, clock_rules
from nodusctl.resources.defaults import with_defaults
from nodusctl.resources.envelope import address_of, envelope_faults, kind_of, server_written, text_map
from nodusctl.resources.faulting import Fault, to_diagnostic, to_diagnostics
from nodusctl.resources.fields import SpecModel
from nodusctl.resources.kinds import KindFacts
from nodusctl.resources.resource import Resource, SecretMaterial
from nodusctl.resources.secret_material import take_values
from nodusctl.resources.shorthands import expand
from nodusctl.resources.validation import faults_of, null_faults

Specs = Mapping[Address, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Decoded:
    """Resources in the order of their documents, and all diagnostics sorted by place."""

    resources: tuple[Resource, ...]
    diagnostics: tuple[Diagnostic, ...]


def decode(documents: Iterable[Document], *, clock_now: datetime | None, project: str, known: Specs = MappingProxyType({})) -> Decoded:
    """Check and read ``documents``.

    ``clock_now`` None skips the rules relative to now; ``known`` are specs of the state, whose unchanged times stay valid.
    """
    resources: list[Resource] = []
    diagnostics: list[Diagnostic] = []
    first: dict[Address, Document] = {}
    ignored: list[tuple[Document, FieldPath]] = []
    for document in documents:
        if not isinstance(document.value, dict):
            detail = "An object is a mapping with apiVersion, kind, metadata and spec."
            diagnostics.append(error("Invalid", "A document holds no object.", detail, span=document.span()))
            continue
        resource, faults = _decode_one(document, document.value, clock_now, project, known)
        diagnostics.extend(faults)
        ignored.extend((document, path) for path in server_written(document.value))
        address = address_of(document.value)
        if address is not None and address in first:
            diagnostics.append(_duplicate(document, first[address], address))
        elif resource is not None:
            resources.append(resource)
        if address is not None:
            first.setdefault(address, document)
    if ignored:
        diagnostics.append(_ignored_note(ignored))
    return Decoded(tuple(resources), in_order(diagnostics))


def _decode_one(
    document: Document, value: dict[str, Any], clock_now: datetime | None, project: str, known: Specs
) -> tuple[Resource | None, tuple[Diagnostic, ...]]:
    facts = kind_of(value)
    address = address_of(value)
    shown = str(address) if address is not None else ""
    faults = list(envelope_faults(value, project))
    if facts is None or facts.is_system:
        return None, to_diagnostics(faults, document, shown)
    written = value.get("spec", {})
    model, material = None, None
    if isinstance(written, dict):
        spec = written
        if facts.kind == "Secret":
            spec, material, problems = take_values(value, written)
            faults.extend(problems)
        model, problems = read_spec(facts, spec)
        faults.extend(problems)
        annotations = text_map(value, "annotations")
        faults.extend(between_fields(facts.kind, written, annotations))
        if clock_now is not None:
            faults.extend(clock_rules(facts.kind, spec, clock_now, known.get(address) if address is not None else None))
    if faults or model is None or address is None:
        return None, to_diagnostics(faults, document, shown)
    return _resource(facts, address, document, model, material), ()


def read_spec(facts: KindFacts, spec: dict[str, Any]) -> tuple[SpecModel | None, tuple[Fault, ...]]:
    """Read one spec (short forms allowed); its faults have paths that begin with ``spec``."""
    empty = tuple(null_faults(spec, ("spec",)))
    try:
        model = facts.spec_model.model_validate(expand(facts.kind, spec))
    except ValidationError as problem:
        named = {path for fault in empty for path in fault.paths}
        found = faults_of(problem, facts.spec_model, ("spec",), show_values=facts.kind != "Secret")
        return None, (*empty, *(fault for fault in found if fault.paths[0] not in named))
    return (None, empty) if empty else (model, ())


def _resource(facts: KindFacts, address: Address, document: Document, model: SpecModel, material: SecretMaterial | None) -> Resource:
    value = document.value if isinstance(document.value, dict) else {}
    complete = with_defaults(facts.kind, model)
    return Resource(
        address=address,
        kind=facts.kind,
        name=address.name,
        labels=MappingProxyType(text_map(value, "labels")),
        annotations=MappingProxyType(text_map(value, "annotations")),
        written=canonical_spec(model, written_only=True),
        spec=canonical_spec(complete),
        model=complete,
        source=document.file,
        span=document.span(("metadata", "name")),
        document=document,
        material=material,
    )


def canonical_spec(model: SpecModel, *, written_only: bool = False) -> dict[str, Any]:
    """The spec as plain JSON values in canonical spelling; ``written_only`` leaves defaults out."""
    return model.model_dump(mode="json", by_alias=True, exclude_unset=written_only, exclude_none=True)


def _duplicate(document: Document, first: Document, address: Address) -> Diagnostic:
    name: FieldPath = ("metadata", "name")
    at = first.span(name)
    detail = f"{address} stands already at {at.file}:{at.line}."
    return to_diagnostic(
        Fault(
            reason="Duplicate", summary="An object is written twice.", detail=detail, fix="Rename or remove one of the two.", paths=(name,)
        ),
        document,
        str(address),
    )


def _ignored_note(ignored: list[tuple[Document, FieldPath]]) -> Diagnostic:
    document, path = ignored[0]
    objects = len({id(found) for found, _ in ignored})
    where = "one object" if objects == 1 else f"{objects} objects"
    return note(
        "ServerWritten",
        "Fields that the program writes were ignored.",
        f"In {where}: status, and bookkeeping in metadata.",
        span=document.span(path, key=True),
    )
