"""Metadata: the whole of metav1.ObjectMeta for reading and schemas, and the few fields of it that a file may write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nodusctl.base.nearest import nearest
from nodusctl.documents.document import FieldPath
from nodusctl.resources.annotations import ANNOTATIONS, PREFIX
from nodusctl.resources.faulting import Fault
from nodusctl.resources.fields import StatusModel, spec_field
from nodusctl.resources.scalars import Count, Flag, Name, Text, check_label
from nodusctl.resources.validation import null_faults, unknown_field, wrong_type


class ManagedFieldsEntry(StatusModel):
    """Who manages which fields."""

    api_version: str | None = spec_field("Version of the field set.")
    fields_type: str | None = spec_field("Form of fieldsV1.")
    fields_v1: dict[str, Any] | None = spec_field("The field set.")
    manager: str | None = spec_field("Who wrote them.")
    operation: str | None = spec_field("Apply or Update.")
    subresource: str | None = spec_field("Subresource they were written through.")
    time: str | None = spec_field("When they were written.")


class OwnerReference(StatusModel):
    """The object this one belongs to."""

    api_version: str | None = spec_field("Version of the owner.")
    block_owner_deletion: Flag | None = spec_field("Whether the owner waits for this object.")
    controller: Flag | None = spec_field("Whether the owner controls this object.")
    kind: str | None = spec_field("Kind of the owner.")
    name: str | None = spec_field("Name of the owner.")
    uid: str | None = spec_field("Uid of the owner.")


class ObjectMeta(StatusModel):
    """Names, labels and bookkeeping of an object, as metav1.ObjectMeta."""

    annotations: dict[Text, Text] | None = spec_field("Notes for programs. Keys under nodus.dev/ are a closed list.")
    creation_timestamp: str | None = spec_field("When it was made. Written by the program.")
    deletion_grace_period_seconds: Count | None = spec_field("Seconds left to end in good order. Written by the program.")
    deletion_timestamp: str | None = spec_field("When its deletion was asked for. Written by the program.")
    finalizers: tuple[str, ...] | None = spec_field("What must happen before it is gone. Written by the program.")
    generate_name: str | None = spec_field("Not used here; write name.")
    generation: Count | None = spec_field("Rises with each change of the spec. Written by the program.")
    labels: dict[Text, Text] | None = spec_field("Labels for selecting.")
    managed_fields: tuple[ManagedFieldsEntry, ...] | None = spec_field("Who manages which fields. Written by the program.")
    name: Name | None = spec_field("Name, unique for its kind in the project.", rule="At most 63 lower-case letters, digits and '-'.")
    namespace: Name | None = spec_field("The project; where written, it is that of the project file.")
    owner_references: tuple[OwnerReference, ...] | None = spec_field("Objects this one belongs to. Written by the program.")
    resource_version: str | None = spec_field("Version of what is stored. Written by the program.")
    self_link: str | None = spec_field("Address of the object. Written by the program.")
    uid: str | None = spec_field("Identity for ever. Written by the program.")


WRITTEN_BY_USERS = frozenset({"name", "namespace", "labels", "annotations", "generateName"})
_LABEL_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\Z")
_LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z")


def metadata_faults(metadata: Mapping[str, Any], project: str) -> Iterator[Fault]:
    """What is wrong with the part of ``metadata`` that a person writes."""
    for key in metadata:
        if key not in _KNOWN:
            yield unknown_field(("metadata", key), ObjectMeta, ("metadata",))
    written = {key: value for key, value in metadata.items() if key in WRITTEN_BY_USERS}
    yield from null_faults(written, ("metadata",))
    yield from _name_faults(metadata)
    namespace = metadata.get("namespace")
    if isinstance(namespace, str) and namespace != project:
        yield Fault(
            reason="Invalid",
            summary="An object belongs to another project.",
            detail=f"metadata.namespace is {namespace[:70]!r}, the project is {project!r}.",
            fix="Remove namespace, or write the project's name.",
            paths=(("metadata", "namespace"),),
        )
    elif namespace is not None and not isinstance(namespace, str):
        yield wrong_type(("metadata", "namespace"), namespace, "a text")
    for group in ("labels", "annotations"):
        yield from _text_map_faults(metadata.get(group), ("metadata", group))


def _name_faults(metadata: Mapping[str, Any]) -> Iterator[Fault]:
    name = metadata.get("name")
    if "generateName" in metadata:
        yield Fault(
            reason="NotSupported",
            summary="A generated name is not supported.",
            detail="A file that is applied twice must mean the same object.",
            fix="Write metadata.name.",
            paths=(("metadata", "generateName"),),
            at_key=True,
        )
    if "name" not in metadata:
        yield Fault(
            reason="FieldValueRequired",
            summary="A required field is missing.",
            detail="metadata has no 'name'.",
            fix="Add 'name'.",
            paths=(("metadata", "name"),),
        )
    elif name is not None and not isinstance(name, str):
        yield wrong_type(("metadata", "name"), name, "a text")
    elif isinstance(name, str):
        yield from _label_fault(name)


def _label_fault(name: str) -> Iterator[Fault]:
    from pydantic_core import PydanticCustomError

    try:
        check_label(name)
    except PydanticCustomError as problem:
        context: Any = problem.context
        yield Fault(reason=context["reason"], summary=context["summary"], detail=context["detail"], paths=(("metadata", "name"),))


def _text_map_faults(value: object, path: FieldPath) -> Iterator[Fault]:
    if value is None:
        return
    if not isinstance(value, dict):
        yield wrong_type(path, value, "a mapping")
        return
    is_labels = path[-1] == "labels"
    for key, text in value.items():
        where: FieldPath = (*path, key)
        if not _is_qualified(key):
            detail = f"{key[:80]!r} was written; it is [prefix/]name of letters, digits, '-', '_' and '.'."
            yield Fault(
                reason="Invalid", summary="A label or annotation key has the wrong form.", detail=detail, paths=(where,), at_key=True
            )
        elif key.startswith(PREFIX):
            yield from _reserved(key, text, where, is_labels=is_labels)
        if text is not None and not isinstance(text, str):
            yield wrong_type(where, text, "a text")
        elif is_labels and isinstance(text, str) and text and not _LABEL_NAME.match(text):
            detail = f"{text[:70]!r} was written; it is at most 63 letters, digits, '-', '_' and '.'."
            yield Fault(reason="Invalid", summary="A label value has the wrong form.", detail=detail, paths=(where,))


def _reserved(key: str, text: object, where: FieldPath, *, is_labels: bool) -> Iterator[Fault]:
    """Keys under nodus.dev/: labels are the program's, annotations a closed list with types."""
    known = ANNOTATIONS.get(key.removeprefix(PREFIX))
    if is_labels or known is None:
        close = None if is_labels else nearest(key, [PREFIX + name for name in ANNOTATIONS])
        fix = f"Did you mean {close!r}?" if close else "Remove it, or use a prefix of your own."
        what = "labels" if is_labels else "other annotations"
        yield Fault(
            reason="Invalid",
            summary="A reserved key is not known.",
            detail=f"{key[:80]!r}: {what} under nodus.dev/ are written by the program.",
            fix=fix,
            paths=(where,),
            at_key=True,
        )
    elif isinstance(text, str) and (problem := known.check(text)):
        yield Fault(
            reason="Invalid", summary="An annotation is not readable.", detail=f"{text[:80]!r} was written; {problem}.", paths=(where,)
        )


def _is_qualified(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return bool(_LABEL_NAME.match(name)) and (not slash or bool(_LABEL_PREFIX.match(prefix)))


_KNOWN = frozenset(field.alias or "" for field in ObjectMeta.model_fields.values())
WRITTEN_BY_PROGRAM = _KNOWN - WRITTEN_BY_USERS
