"""``receipts --verify`` as text and as JSON: what was recomputed, how far rates can be followed, and every difference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nodusctl.engine.findings import Finding
from nodusctl.engine.verifying import Verification
from nodusctl.render.counting import counted
from nodusctl.render.style import Style
from nodusctl.render.tables import table

_SHOWN = 100


def verification_text(found: Verification, style: Style) -> str:
    """Findings first, then the line that sums up."""
    return "\n".join([*_finding_lines(found, style), *_rate_lines(found), _summary(found)])


def _summary(found: Verification) -> str:
    receipts, charged = counted(found.receipts, "receipt"), found.charged_usd.shown
    if found.findings:
        return f"{receipts} checked, {charged}; {counted(len(found.findings), 'difference')}."
    still = f" Not yet final: {found.open_receipts}; what they hold covers them until their edge." if found.open_receipts else ""
    storage = f" Storage: {found.storage_usd.shown}, verified." if found.storage_usd else ""
    return f"{receipts} verified, {charged}.{storage}{still}"


def _finding_lines(found: Verification, style: Style) -> Iterator[str]:
    if found.findings:
        yield table(("ATTEMPT", "OWNER", "DIFFERENCE", "EXPECTED", "FOUND"), [_row(one) for one in found.findings[:_SHOWN]], style)
    if (more := len(found.findings) - _SHOWN) > 0:
        yield f"and {more} more; all of them:  nodusctl receipts --verify --json"
    if found.findings:
        yield ""


def _rate_lines(found: Verification) -> Iterator[str]:
    if found.rates:
        yield "Rates: " + ", ".join(f"{count} {trace.value}" for trace, count in sorted(found.rates.items())) + "."


def _row(finding: Finding) -> list[str]:
    name = f"{finding.attempt} ({finding.attempt_uid[:8]})" if finding.attempt else finding.attempt_uid[:8]
    return [name or "(the ledger)", finding.owner, finding.fault.value, finding.expected, finding.found]


def verification_document(found: Verification) -> dict[str, Any]:
    """JSON: money as strings, every finding."""
    return {
        "verified": not found.findings,
        "receipts": found.receipts,
        "open": found.open_receipts,
        "chargedUSD": str(found.charged_usd),
        "storageUSD": str(found.storage_usd),
        "rates": {trace.name.lower(): count for trace, count in sorted(found.rates.items())},
        "findings": [
            {
                "attempt": one.attempt,
                "attemptUID": one.attempt_uid,
                "owner": one.owner,
                "difference": one.fault.value,
                "expected": one.expected,
                "found": one.found,
            }
            for one in found.findings
        ],
    }
