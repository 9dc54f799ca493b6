"""The outside of a document: apiVersion, kind, metadata, spec, status, and whether a person may write this kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.documents.document import FieldPath
from nodusctl.resources.faulting import Fault
from nodusctl.resources.kinds import API_VERSION, KINDS, KindFacts, kind_named, nearest_kind
from nodusctl.resources.metadata import WRITTEN_BY_PROGRAM, metadata_faults
from nodusctl.resources.shapes import fields_of
from nodusctl.resources.validation import missing_field, unknown_field, wrong_type

ENVELOPE = ("apiVersion", "kind", "metadata", "spec", "status")


def kind_of(value: Mapping[str, Any]) -> KindFacts | None:
    """The kind a document names exactly, or None."""
    kind = value.get("kind")
    return KINDS.get(kind) if isinstance(kind, str) else None


def address_of(value: Mapping[str, Any]) -> Address | None:
    """What a document calls its object, where kind and name are readable."""
    facts = kind_of(value)
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return Address(facts.singular, name) if facts is not None and isinstance(name, str) and name else None


def text_map(value: Mapping[str, Any], group: str) -> dict[str, str]:
    """The readable part of ``labels`` or ``annotations``."""
    metadata = value.get("metadata")
    found = metadata.get(group) if isinstance(metadata, dict) else None
    return {key: text for key, text in found.items() if isinstance(text, str)} if isinstance(found, dict) else {}


def envelope_faults(value: Mapping[str, Any], project: str) -> Iterator[Fault]:
    """What is wrong outside of spec."""
    facts = kind_of(value)
    yield from _version_faults(value)
    yield from _kind_faults(value, facts)
    for key in value:
        if key not in ENVELOPE:
            yield _stray_key(key, facts)
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        yield from metadata_faults(metadata, project)
    elif "metadata" in value:
        yield wrong_type(("metadata",), metadata, "a mapping")
    else:
        yield missing_field(("metadata",))
    if "spec" in value and not isinstance(value["spec"], dict):
        yield wrong_type(("spec",), value["spec"], "a mapping", show_values=False)


def server_written(value: Mapping[str, Any]) -> tuple[FieldPath, ...]:
    """Parts that only the program writes and that are ignored here."""
    metadata = value.get("metadata")
    found: list[FieldPath] = [("metadata", key) for key in metadata if key in WRITTEN_BY_PROGRAM] if isinstance(metadata, dict) else []
    if "status" in value:
        found.append(("status",))
    return tuple(found)


def _version_faults(value: Mapping[str, Any]) -> Iterator[Fault]:
    version = value.get("apiVersion")
    if "apiVersion" not in value:
        yield missing_field(("apiVersion",))
    elif not isinstance(version, str):
        yield wrong_type(("apiVersion",), version, "a text")
    elif version != API_VERSION:
        detail = f"{version[:60]!r} was written."
        yield Fault(
            reason="NotSupported",
            summary="An API version is not known.",
            detail=detail,
            fix=f"Write apiVersion: {API_VERSION}",
            paths=(("apiVersion",),),
        )


def _kind_faults(value: Mapping[str, Any], facts: KindFacts | None) -> Iterator[Fault]:
    kind = value.get("kind")
    if "kind" not in value:
        yield missing_field(("kind",))
    elif not isinstance(kind, str):
        yield wrong_type(("kind",), kind, "a text")
    elif facts is None:
        other = kind_named(kind)
        close = other.kind if other is not None else nearest_kind(kind)
        fix = (
            f"Did you mean {close}?"
            if close
            else "Kinds are " + ", ".join(name for name, known in KINDS.items() if not known.is_system) + "."
        )
        yield Fault(
            reason="NotSupported", summary="A kind is not known.", detail=f"{kind[:60]!r} was written.", fix=fix, paths=(("kind",),)
        )
    elif facts.is_system:
        detail = f"{kind} objects are written by the program only."
        yield Fault(
            reason="Forbidden", summary="A kind can't be written by hand.", detail=detail, fix="Remove the document.", paths=(("kind",),)
        )


def _stray_key(key: str, facts: KindFacts | None) -> Fault:
    """A key beside spec: most often one that belongs inside it."""
    from nodusctl.base.nearest import nearest

    if facts is not None and (close := nearest(key, fields_of(facts.spec_model))) is not None and nearest(key, ENVELOPE) is None:
        detail = f"{key!r} is no field of the document."
        fix = f"It belongs under spec: spec.{close}." if close == key else f"Did you mean spec.{close}?"
        return Fault(reason="Invalid", summary="A field is not known.", detail=detail, fix=fix, paths=((key,),), at_key=True)
    if facts is not None:
        fault = unknown_field((key,), facts.spec_model)
        if fault.fix.startswith("It belongs"):
            return Fault(
                reason=fault.reason,
                summary=fault.summary,
                detail=f"{key!r} is no field of the document.",
                fix=fault.fix.replace(" at ", " at spec."),
                paths=((key,),),
                at_key=True,
            )
    close = nearest(key, ENVELOPE)
    fix = f"Did you mean {close!r}?" if close else "Known here: " + ", ".join(ENVELOPE) + "."
    return Fault(
        reason="Invalid",
        summary="A field is not known.",
        detail=f"{key!r} is no field of the document.",
        fix=fix,
        paths=((key,),),
        at_key=True,
    )
