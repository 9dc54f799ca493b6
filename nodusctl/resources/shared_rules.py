"""Rules between fields that a Workspace and a Function share, and the readers all rules are made of.

Rules read the document's own values, so that they are checked even where other fields are wrong; they are silent about
values of a wrong type, which validation has named already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from nodusctl.base.nearest import nearest
from nodusctl.base.redaction import REDACTOR, looks_secret
from nodusctl.base.timestamps import parse_time
from nodusctl.documents.document import FieldPath
from nodusctl.resources.faulting import Fault
from nodusctl.resources.pins import contradictory_pins

Spec = Mapping[str, Any]


def machine_rules(spec: Spec, annotations: Mapping[str, str], nodes_hint: str) -> Iterator[Fault]:
    """What a Workspace and a Function have in common."""
    nodes = mapping_at(spec, "resources").get("nodes")
    if isinstance(nodes, int) and nodes > 1:
        yield Fault(
            reason="Invalid",
            summary="More than one machine is asked for.",
            detail=f"{nodes} was written. {nodes_hint}",
            fix="Remove nodes.",
            paths=(("spec", "resources", "nodes"),),
        )
    egress = mapping_at(mapping_at(spec, "network"), "egress")
    for name in ("allow", "presets"):
        if egress.get(name) and egress.get("policy", "Open") in ("Open", "Deny"):
            yield Fault(
                reason="Invalid",
                summary="An allow list has no effect.",
                detail=f"network.egress.{name} is only for policy AllowList.",
                fix=f"Write policy: AllowList, or remove {name}.",
                paths=(("spec", "network", "egress", "policy"), ("spec", "network", "egress", name)),
            )
    yield from env_rules(spec.get("env"), ("spec", "env"), annotations)
    yield from unique(spec, "secrets", by="name")
    yield from unique(spec, "imagePullSecrets")
    yield from unique(spec, "connections")
    yield from contradictory_pins(spec)


def env_rules(env: object, base: FieldPath, annotations: Mapping[str, str]) -> Iterator[Fault]:
    """Names once and not reserved, one source each, and no secret written out."""
    allowed = {name.strip() for name in annotations.get("nodus.dev/allow-env", "").split(",")}
    first: dict[str, int] = {}
    for index, entry in enumerate(env if isinstance(env, list) else []):
        if not isinstance(entry, dict):
            continue
        path: FieldPath = (*base, index)
        name, value = entry.get("name"), entry.get("value")
        if isinstance(name, str):
            if name in first:
                yield twice((*path, "name"), (*base, first[name], "name"))
            first.setdefault(name, index)
            if name.upper().startswith("NODUS_"):
                yield Fault(
                    reason="Forbidden",
                    summary="An environment variable is reserved.",
                    detail=f"{name!r} begins with NODUS_, which the machine sets.",
                    paths=((*path, "name"),),
                )
        if ("value" in entry) == ("valueFrom" in entry):
            yield _one_source(entry, path)
        if isinstance(name, str) and isinstance(value, str) and value and name not in allowed and looks_secret(name, value):
            REDACTOR.remember(value)
            yield _secret_in_env(name, path)


def _one_source(entry: Mapping[str, Any], path: FieldPath) -> Fault:
    is_both = "value" in entry
    return Fault(
        reason="Invalid" if is_both else "FieldValueRequired",
        summary="An environment variable has two values." if is_both else "An environment variable has no value.",
        detail="Exactly one of value and valueFrom is written.",
        fix="Remove one of the two." if is_both else "Add value or valueFrom.",
        paths=((*path, "value"), (*path, "valueFrom")),
    )


def _secret_in_env(name: str, path: FieldPath) -> Fault:
    return Fault(
        reason="SecretValueInEnv",
        summary="A secret is written into an environment variable.",
        detail=f"The name or the value of {name!r} looks like a secret; it would stand in files, plans and state.",
        fix=f'Put it into a Secret and use valueFrom.secretKeyRef, or, if it is none, add the annotation nodus.dev/allow-env: "{name}".',
        paths=((*path, "value"),),
    )


def catalog_image(spec: Spec, known: tuple[str, ...]) -> Iterator[Fault]:
    """An image under nodus/ that is none of those known."""
    image = spec.get("image")
    if not isinstance(image, str) or not image.startswith("nodus/") or image.partition("@")[0].partition(":")[0] in known or image in known:
        return
    close = nearest(image, known)
    yield Fault(
        reason="NotSupported",
        summary="A catalog image is not known.",
        detail=f"{image[:80]!r} was written; images under nodus/ are {', '.join(known)}.",
        fix=f"Did you mean {close!r}?" if close else "Write one of these, or an image of your own.",
        paths=(("spec", "image"),),
    )


def unique(spec: Spec, name: str, *, by: str = "") -> Iterator[Fault]:
    """Entries of a list that stand twice; ``by`` names the key that tells entries apart."""
    first: dict[object, FieldPath] = {}
    entries = spec.get(name)
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        value = entry.get(by) if by and isinstance(entry, dict) else entry
        path: FieldPath = ("spec", name, index, by) if isinstance(entry, dict) else ("spec", name, index)
        if not isinstance(value, (str, int)):
            continue
        if value in first:
            yield twice(path, first[value])
        first.setdefault(value, path)


def twice(path: FieldPath, first: FieldPath) -> Fault:
    """One entry written twice."""
    return Fault(
        reason="Duplicate",
        summary="An entry is written twice.",
        detail="Each stands once in the list.",
        fix="Keep one of the two.",
        paths=(first, path),
    )


def mapping_at(spec: Spec, name: str) -> Mapping[str, Any]:
    """The mapping under ``name``, or an empty one."""
    found = spec.get(name)
    return found if isinstance(found, dict) else {}


def time_of(value: object) -> datetime | None:
    """A time that is readable, else None."""
    try:
        return parse_time(value) if isinstance(value, str) else None
    except ValueError:
        return None
