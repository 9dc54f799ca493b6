"""Rules between fields, by kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from nodusctl.resources.faulting import Fault
from nodusctl.resources.function_rules import function_rules
from nodusctl.resources.shared_rules import Spec, mapping_at, unique
from nodusctl.resources.workspace_rules import workspace_clock_rules, workspace_rules


def between_fields(kind: str, spec: Spec, annotations: Mapping[str, str]) -> Iterator[Fault]:
    """All rules between fields of one object; the paths of their faults begin with ``spec``."""
    match kind:
        case "Workspace":
            yield from workspace_rules(spec, annotations)
        case "Function":
            yield from function_rules(spec, annotations)
        case "Budget":
            yield from unique(spec, "thresholds")
        case "Secret":
            yield from _secret_sources(spec)
        case "Pool":
            yield from unique(spec, "providers")
            yield from unique(spec, "hosts")
        case _:
            pass


def clock_rules(kind: str, spec: Spec, now: datetime, before: Spec | None = None) -> Iterator[Fault]:
    """Rules relative to ``now``; ``before`` is the state's spec, whose unchanged times stay valid."""
    if kind == "Workspace":
        yield from workspace_clock_rules(spec, now, before)


def _secret_sources(spec: Spec) -> Iterator[Fault]:
    sources = mapping_at(spec, "valueFrom")
    literals = [(group, key) for group in ("data", "stringData") for key in mapping_at(spec, group)]
    for group, key in literals:
        if key in sources:
            yield Fault(
                reason="Invalid",
                summary="A Secret key has two values.",
                detail="It is written out and has a source.",
                fix="Remove one of the two.",
                paths=(("spec", group, key), ("spec", "valueFrom", key)),
            )
    for key, source in sources.items():
        if isinstance(source, dict) and sum(name in source for name in ("env", "file", "command")) != 1:
            paths = tuple(("spec", "valueFrom", key, name) for name in ("env", "file", "command") if name in source)
            yield Fault(
                reason="Invalid" if paths else "FieldValueRequired",
                summary="A Secret value has not exactly one source.",
                detail="Exactly one of env, file and command is written.",
                paths=paths or (("spec", "valueFrom", key, "env"),),
            )
    if not literals and not sources and not any(name in spec for name in ("data", "stringData", "valueFrom")):
        detail = "spec has none of 'stringData', 'data' and 'valueFrom'."
        yield Fault(
            reason="FieldValueRequired",
            summary="A Secret has no values.",
            detail=detail,
            fix="Add valueFrom or stringData.",
            paths=(("spec", "valueFrom"),),
        )
