"""An error as metav1.Status, the form an HTTP answer gives it too: with ``fix`` and ``docs`` beside the fields of Kubernetes.

The surprise: what is wrong with one field is a *cause*. Such an error is Invalid as a whole, and its own code stands at the cause, under
the name Kubernetes has for it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.base.redaction import one_line
from nodusctl.resources.errors import REASONS
from nodusctl.resources.kinds import API_VERSION

_CAUSES = MappingProxyType(
    {
        "Invalid": "FieldValueInvalid",
        "FieldValueRequired": "FieldValueRequired",
        "NotSupported": "FieldValueNotSupported",
        "Duplicate": "FieldValueDuplicate",
    }
)
_CONFLICT, _INTERNAL = 409, 500
"""For what has no HTTP code of its own: what stands in the way here, and what the program itself lacks."""
_OWN_FAULTS = frozenset({"PluginCrashed", "OutputLost"})


def failure_document(diagnostic: Diagnostic) -> dict[str, Any]:
    """The whole Status; ``details`` says what of an object and a field is known. Paths in ``docs`` are the project's own."""
    reason = "Invalid" if diagnostic.code in _CAUSES else diagnostic.code
    parts: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": _message(diagnostic),
        "reason": reason,
        "details": _details(diagnostic),
        "code": _http(reason),
        "fix": diagnostic.fix,
        "docs": f"docs/errors/{diagnostic.code}.md",
    }
    return {name: value for name, value in parts.items() if value != "" and (name == "metadata" or value != {})}


def _http(reason: str) -> int:
    known = REASONS.get(reason)
    if known is not None and known.http:
        return known.http
    return _INTERNAL if reason in _OWN_FAULTS else _CONFLICT


def _details(diagnostic: Diagnostic) -> dict[str, Any]:
    kind, found, name = diagnostic.address.partition("/")
    details: dict[str, Any] = {"group": API_VERSION.partition("/")[0], "kind": kind, "name": name} if found else {}
    if diagnostic.field:
        cause = {"field": diagnostic.field, "reason": _CAUSES.get(diagnostic.code, diagnostic.code), "message": diagnostic.summary}
        details["causes"] = [cause]
    return details


def _message(diagnostic: Diagnostic) -> str:
    """On one line."""
    place = f"{diagnostic.span}: " if diagnostic.span is not None else ""
    summary, detail = one_line(diagnostic.summary), one_line(diagnostic.detail)
    if detail and summary[-1:] not in ".!?:":
        summary += "."
    return f"{place}{summary} {detail}".rstrip()
