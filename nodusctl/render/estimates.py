"""``cost --estimates`` as a table, as CSV and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nodusctl.base.durations import format_duration
from nodusctl.engine.estimates import Comparison, Share
from nodusctl.pricing.bands import DurationBand
from nodusctl.render.counting import counted
from nodusctl.render.csv_text import csv_text
from nodusctl.render.spans import age_text
from nodusctl.render.style import Style
from nodusctl.render.tables import table

_COST_HEADS = ("OBJECT", "SESSIONS", "P50", "P90", "ACTUAL", "WITHIN P90", "VERDICT")
_START_HEADS = ("OBJECT", "STARTS", "P50", "P90", "ACTUAL P50", "P90", "WITHIN P90", "VERDICT")
_NUMBERS = frozenset({"SESSIONS", "STARTS", "P50", "P90", "ACTUAL", "ACTUAL P50", "WITHIN P90"})
_CSV_HEADS = (
    "object",
    "sessions",
    "predicted_p50_usd",
    "predicted_p90_usd",
    "actual_usd",
    "sessions_within_p90",
    "cost_verdict",
    "sessions_left_out",
    "starts",
    "predicted_start_p90_seconds",
    "actual_start_p50_seconds",
    "actual_start_p90_seconds",
    "starts_within_p90",
    "start_verdict",
)


def estimates_text(found: Sequence[Comparison], style: Style) -> str:
    """Costs, then starts, then what the columns mean."""
    if not found:
        return "No session has finished yet, so there is nothing to compare."
    costs = table(_COST_HEADS, [_cost_row(one) for one in found], style, right=_NUMBERS, indent=2)
    starts = table(_START_HEADS, [_start_row(one) for one in found], style, right=_NUMBERS, indent=2)
    lines = ["Cost of finished sessions", costs, "", "Time until the tools answered", starts, ""]
    if left_out := sum(one.left_out for one in found):
        lines.append(f"Not compared: {counted(left_out, 'session')} whose end was moved after the launch.")
    lines.append("Honest: at least 90 of 100 came out at or under p90. Predicted at each launch, for a session that runs until its edge.")
    return "\n".join(lines)


def _cost_row(one: Comparison) -> list[str]:
    amounts = (one.p50_usd.shown, one.p90_usd.shown, one.actual_usd.shown) if one.cost.count else ("", "", "")
    return [one.name, str(one.cost.count), *amounts, _share(one.cost), _verdict(one)]


def _verdict(one: Comparison) -> str:
    """An honest p90 that nothing comes near is told apart: it is a bound more than an estimate."""
    is_wide = one.cost.verdict == "honest" and one.actual_usd * 2 < one.p50_usd
    return "honest, but wide: sessions end long before their edge" if is_wide else one.cost.verdict


def _start_row(one: Comparison) -> list[str]:
    predicted = [_span(one.start, "p50"), _span(one.start, "p90")]
    actual = [_span(one.actual_start, "p50"), _span(one.actual_start, "p90")]
    return [one.name, str(one.starts.count), *predicted, *actual, _share(one.starts), one.starts.verdict]


def _span(band: DurationBand | None, which: str) -> str:
    if band is None:
        return ""
    return age_text(band.p50 if which == "p50" else band.p90)


def _share(share: Share) -> str:
    return f"{share.within} of {share.count}" if share.count else ""


def estimates_csv(found: Sequence[Comparison]) -> str:
    """One line an object."""
    return csv_text(_CSV_HEADS, (_csv_row(one) for one in found))


def _csv_row(one: Comparison) -> list[str]:
    return [
        one.name,
        str(one.cost.count),
        str(one.p50_usd),
        str(one.p90_usd),
        str(one.actual_usd),
        str(one.cost.within),
        one.cost.verdict,
        str(one.left_out),
        str(one.starts.count),
        str(one.start.p90.total_seconds()) if one.start else "",
        str(one.actual_start.p50.total_seconds()) if one.actual_start else "",
        str(one.actual_start.p90.total_seconds()) if one.actual_start else "",
        str(one.starts.within),
        one.starts.verdict,
    ]


def estimates_document(found: Sequence[Comparison]) -> dict[str, Any]:
    """JSON: money and durations as text."""
    return {"estimates": [_document(one) for one in found]}


def _document(one: Comparison) -> dict[str, Any]:
    return {
        "object": one.name,
        "sessions": one.cost.count,
        "leftOut": one.left_out,
        "predictedUSD": {"p50": str(one.p50_usd), "p90": str(one.p90_usd)},
        "actualUSD": str(one.actual_usd),
        "withinP90": one.cost.within,
        "verdict": one.cost.verdict,
        "starts": {
            "count": one.starts.count,
            "predicted": _band_document(one.start),
            "actual": _band_document(one.actual_start),
            "withinP90": one.starts.within,
            "verdict": one.starts.verdict,
        },
    }


def _band_document(band: DurationBand | None) -> dict[str, str]:
    return {"p50": format_duration(band.p50), "p90": format_duration(band.p90)} if band is not None else {}
