"""Drift as text and as JSON: what differs, what is merely due, and which providers could not be asked."""

from __future__ import annotations

from typing import Any

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.engine.drifting import DriftReport
from nodusctl.lifecycle.differing import Difference
from nodusctl.render.counting import counted
from nodusctl.render.style import Style


def drift_text(report: DriftReport, style: Style) -> str:
    """One line a difference; what is due stands under it, because it is no drift."""
    lines = [_line(one, style) for one in report.differences]
    if report.due:
        lines += ["", style.paint("Due, which is no drift", "bold")] if lines else [style.paint("Due, which is no drift", "bold")]
        lines += [f"  {one.address}: {one.message}" for one in report.due]
    asked = f"{counted(report.compared, 'thing')} compared"
    unasked = f"; {counted(len(report.failures), 'provider')} could not be asked" if report.failures else ""
    verdict = counted(len(report.differences), "difference") if report.differences else "No drift"
    return "\n".join([*lines, *([""] if lines else []), style.paint(f"{verdict}: {asked}{unasked}.", "bold")])


def drift_document(report: DriftReport) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "drift": [difference_document(one) for one in report.differences],
        "due": [{"address": str(one.address), "thing": one.thing, "message": one.message} for one in report.due],
        "failures": dict(report.failures),
        "compared": report.compared,
    }


def difference_document(one: Difference) -> dict[str, str]:
    """One difference."""
    return {
        "kind": one.kind.value,
        "address": str(one.address),
        "provider": one.provider,
        "thing": one.thing,
        "what": one.what,
        "expected": one.expected,
        "found": one.found,
        "message": one.message,
    }


def unasked(failures: dict[str, str]) -> tuple[Diagnostic, ...]:
    """An error for each provider instance that could not be asked."""
    return tuple(
        error(_code(why), "A provider could not be asked.", f"Provider {name}: {why.rstrip('.')}.", f"See why:\n  nodusctl doctor {name}")
        for name, why in sorted(failures.items())
    )


def _code(why: str) -> str:
    return "ProviderIdentityChanged" if why.startswith("ProviderIdentityChanged") else "ProviderNotReady"


def _line(one: Difference, style: Style) -> str:
    return f"{style.paint('!', 'red')} {one.address}  {style.paint(one.kind.value, 'yellow')}  {one.thing} at {one.provider}: {one.message}"
