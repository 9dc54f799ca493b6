"""``cost`` as a table with bars, as CSV and as JSON. A bar is its amount's share of the largest one, so it needs no scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nodusctl.base.timestamps import format_time
from nodusctl.engine.spending import GroupBy, Period, Spending
from nodusctl.render.csv_text import csv_text
from nodusctl.render.style import Style
from nodusctl.render.tables import table

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_WIDEST = 40
_NARROWEST = 8
_BESIDE = 60


def spending_text(spending: Spending, style: Style) -> str:
    """The groups with their bars, then the sum."""
    if not spending.groups:
        nothing = "Nothing has been charged yet." if spending.period.is_always else f"Nothing was charged {_words_of(spending.period)}."
        return "\n".join((nothing, *_storage_lines(spending)))
    largest = max(group.charged_usd.micro for group in spending.groups)
    width = max(_NARROWEST, min(_WIDEST, style.width - _BESIDE)) if style.width else _WIDEST
    rows = [
        [
            group.name,
            str(group.attempts),
            group.charged_usd.shown,
            group.held_usd.shown if group.held_usd else "",
            bar(group.charged_usd.micro, largest, width, has_blocks=style.has_blocks),
        ]
        for group in spending.groups
    ]
    lines = [table((_head(spending), "SESSIONS", "CHARGED", "HELD", ""), rows, style, right={"SESSIONS", "CHARGED", "HELD"})]
    held = f" {spending.held_usd.shown} is held by what still runs." if spending.held_usd else ""
    when = f" {_words_of(spending.period)}" if not spending.period.is_always else ""
    lines.append(f"\nCharged{when}: {spending.charged_usd.shown}, before tax.{held}")
    lines += _storage_lines(spending)
    if spending.by is GroupBy.DAY:
        lines.append("A charge stands at the day (UTC) it was posted: the end of its session, a renewal, the end of a month.")
    return "\n".join(lines)


def _storage_lines(spending: Spending) -> Iterator[str]:
    if spending.storage_so_far_usd:
        yield f"Storage so far: {spending.storage_so_far_usd.shown}, posted at the end of the month."
    if spending.unpriced:
        yield f"Not posted, because the price of the disk was never written down: {', '.join(map(str, spending.unpriced))}."


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
        "storageSoFarUSD": str(spending.storage_so_far_usd),
        "storageUnpriced": [str(one) for one in spending.unpriced],
        **_period_document(spending.period),
    }


def _period_document(period: Period) -> dict[str, str]:
    bounds = (("since", period.since), ("until", period.until))
    return {name: format_time(moment) for name, moment in bounds if moment is not None}


def _words_of(period: Period) -> str:
    bounds = (("from", period.since), ("before", period.until))
    return " ".join(f"{word} {format_time(moment)}" for word, moment in bounds if moment is not None)


def spending_csv(spending: Spending) -> str:
    """One line a group: what it is grouped by, its name, sessions, what is charged and what is held."""
    rows = ([spending.by.value, one.name, str(one.attempts), str(one.charged_usd), str(one.held_usd)] for one in spending.groups)
    return csv_text(("by", "name", "sessions", "charged_usd", "held_usd"), rows)


def bar(amount: int, largest: int, width: int, *, has_blocks: bool = True) -> str:
    """Up to ``width`` full blocks, in steps of an eighth, or whole ``#``; something above zero always shows."""
    if amount <= 0 or largest <= 0:
        return ""
    if not has_blocks:
        return "#" * max(1, amount * width // largest)
    eighths = max(1, amount * width * 8 // largest)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _head(spending: Spending) -> str:
    return f"LABEL {spending.label}".strip().upper() if spending.by is GroupBy.LABEL else spending.by.value.upper()
