"""``cost`` as a table with bars and as JSON. A bar is its amount's share of the largest one, so it needs no scale."""

from __future__ import annotations

from typing import Any

from nodusctl.engine.spending import GroupBy, Spending
from nodusctl.render.style import Style
from nodusctl.render.tables import table

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_WIDEST = 40
_NARROWEST = 8
_BESIDE = 60


def spending_text(spending: Spending, style: Style) -> str:
    """The groups with their bars, then the sum."""
    if not spending.groups:
        return "Nothing has been charged yet."
    largest = max(group.charged_usd.micro for group in spending.groups)
    width = max(_NARROWEST, min(_WIDEST, style.width - _BESIDE)) if style.width else _WIDEST
    rows = [
        [
            group.name,
            str(group.attempts),
            group.charged_usd.shown,
            group.held_usd.shown if group.held_usd else "",
            bar(group.charged_usd.micro, largest, width),
        ]
        for group in spending.groups
    ]
    lines = [table((_head(spending), "SESSIONS", "CHARGED", "HELD", ""), rows, style, right={"SESSIONS", "CHARGED", "HELD"})]
    held = f" {spending.held_usd.shown} is held by what still runs." if spending.held_usd else ""
    lines.append(f"\nCharged: {spending.charged_usd.shown}, before tax.{held}")
    if spending.by is GroupBy.DAY:
        lines.append("A charge stands at the day (UTC) it was posted: the end of its session.")
    return "\n".join(lines)


def spending_document(spending: Spending) -> dict[str, Any]:
    """The same as JSON; money as strings."""
    return {
        "by": spending.by.value,
        "label": spending.label,
        "groups": [
            {"name": group.name, "sessions": group.attempts, "chargedUSD": str(group.charged_usd), "heldUSD": str(group.held_usd)}
            for group in spending.groups
        ],
        "chargedUSD": str(spending.charged_usd),
        "heldUSD": str(spending.held_usd),
    }


def bar(amount: int, largest: int, width: int) -> str:
    """Up to ``width`` full blocks, in steps of an eighth; something above zero always shows."""
    if amount <= 0 or largest <= 0:
        return ""
    eighths = max(1, amount * width * 8 // largest)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _head(spending: Spending) -> str:
    return f"LABEL {spending.label}".strip().upper() if spending.by is GroupBy.LABEL else spending.by.value.upper()
