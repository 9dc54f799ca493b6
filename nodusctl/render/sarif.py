"""Findings as SARIF 2.1.0 (OASIS, docs.oasis-open.org/sarif/sarif/v2.1.0): what code scanning and editors read.

The surprise: a finding without a file (a provider that isn't ready) has its place in the project file, because GitHub's code scanning takes
no result without one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from nodusctl import __version__
from nodusctl.base.diagnostics import Diagnostic, Severity
from nodusctl.render.findings import Findings
from nodusctl.render.redacted import redacted

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_PROJECT_FILE = "nodusctl.yaml"


def sarif_document(found: Findings, path_of: Callable[[str], str] = str) -> dict[str, Any]:
    """One run with a rule for each code. ``path_of`` turns a file's name into its path in the repository."""
    said = found.ordered
    codes = tuple(dict.fromkeys(one.code for one in said))
    run = {
        "tool": {
            "driver": {
                "name": "nodusctl",
                "semanticVersion": __version__,
                "rules": [{"id": code} for code in codes],
            }
        },
        "automationDetails": {"id": f"nodusctl/{found.command}/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the repository."}}},
        "results": [_result(one, codes.index(one.code), path_of) for one in said],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [redacted(run)]}


def _result(one: Diagnostic, rule: int, path_of: Callable[[str], str]) -> dict[str, Any]:
    parts = [f"{one.summary.rstrip('.')}.", one.detail, f"Fix: {one.fix}" if one.fix else ""]
    return {
        "ruleId": one.code,
        "ruleIndex": rule,
        "level": _LEVELS[one.severity],
        "message": {"text": "\n".join(part for part in parts if part)},
        "locations": [_location(one, path_of)],
        "partialFingerprints": {"nodusctl/v1": _fingerprint(one)},
    }


def _location(one: Diagnostic, path_of: Callable[[str], str]) -> dict[str, Any]:
    path = path_of(one.span.file if one.span else _PROJECT_FILE)
    physical: dict[str, Any] = {"artifactLocation": _artifact(path)}
    if one.span is not None:
        physical["region"] = {"startLine": max(one.span.line, 1), "startColumn": max(one.span.column, 1)}
    logical = ".".join(part for part in (one.address, one.field) if part)
    return {"physicalLocation": physical, **({"logicalLocations": [{"fullyQualifiedName": logical}]} if logical else {})}


def _artifact(path: str) -> dict[str, Any]:
    """A path below the repository is relative to its root; one outside is absolute."""
    if path.startswith("/"):
        return {"uri": f"file://{quote(path)}"}
    return {"uri": quote(path), "uriBaseId": "%SRCROOT%"}


def _fingerprint(one: Diagnostic) -> str:
    """The same finding after lines were added above it: what it is and whose, not where."""
    parts = (one.code, one.span.file if one.span else "", one.address, one.field, one.summary)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
