"""``doctor`` as text and as JSON: what was looked at, marked by a word, then each finding with its fix."""

from __future__ import annotations

from typing import Any

from nodusctl.base.diagnostics import Severity
from nodusctl.engine.checkup import Area, Checkup
from nodusctl.render.counting import counted
from nodusctl.render.diagnostics import diagnostic_text
from nodusctl.render.style import Style
from nodusctl.render.tables import table


def checkup_text(checkup: Checkup, style: Style) -> str:
    """A table of areas, the findings, and one line that sums up."""
    rows = [[_verdict(area), area.kind, area.name, area.note] for area in checkup.areas]
    parts = [table(("STATE", "AREA", "WHAT", "SEEN"), rows, style)]
    parts += [diagnostic_text(finding, style) for finding in checkup.findings]
    parts.append(_summary(checkup))
    return "\n\n".join(parts)


def checkup_document(checkup: Checkup) -> dict[str, Any]:
    """The areas; the findings themselves are lines of their own."""
    return {
        "healthy": checkup.is_healthy,
        "areas": [{"kind": area.kind, "name": area.name, "seen": area.note, "state": _verdict(area)} for area in checkup.areas],
    }


def _verdict(area: Area) -> str:
    severities = {finding.severity for finding in area.findings}
    return next((one.value for one in (Severity.ERROR, Severity.WARNING) if one in severities), "ok")


def _summary(checkup: Checkup) -> str:
    counts = [
        counted(count, severity.value)
        for severity in Severity
        if (count := sum(1 for finding in checkup.findings if finding.severity is severity))
    ]
    return f"Found: {', '.join(counts)}." if counts else "Nothing found: all of this is healthy."
