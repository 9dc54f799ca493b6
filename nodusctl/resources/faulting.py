"""A Fault is a rule that a document breaks, by field path; the document turns it into a diagnostic with a place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nodusctl.base.diagnostics import Diagnostic, Severity
from nodusctl.documents.document import Document, FieldPath, dotted


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One broken rule. With several paths it stands at the last of them in the file; ``at_key`` points at the key.

    A path that isn't written stands at the key of the mapping that lacks it.
    """

    reason: str
    summary: str
    detail: str = ""
    fix: str = ""
    paths: tuple[FieldPath, ...]
    at_key: bool = False
    severity: Severity = Severity.ERROR


def to_diagnostic(fault: Fault, document: Document, address: str = "") -> Diagnostic:
    """The fault at its place in ``document``."""
    written = [path for path in fault.paths if document.nearest_place(path)[1]] or list(fault.paths[:1])
    path = max(written, key=document.order_of)
    named = [dotted(other) for other in fault.paths if other != path]
    detail = fault.detail
    if named and len(written) > 1:
        detail = f"{detail} Also involved: {', '.join(named)}.".strip()
    span = document.span(path, key=fault.at_key)
    return Diagnostic(fault.severity, fault.reason, fault.summary, detail, fault.fix, span, dotted(path), address)


def to_diagnostics(faults: Iterable[Fault], document: Document, address: str = "") -> tuple[Diagnostic, ...]:
    """All faults of one document."""
    return tuple(to_diagnostic(fault, document, address) for fault in faults)
