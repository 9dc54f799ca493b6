"""The cost table of a plan: p50, p90 and at most, the rate, and where its price came from and how old it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nodusctl.base.money import Money
from nodusctl.base.timestamps import format_time
from nodusctl.plan.costs import CostLine
from nodusctl.plan.plan import Plan, Totals
from nodusctl.pricing.estimate import Horizon
from nodusctl.render.plan_comparison import comparison_lines
from nodusctl.render.spans import age_text
from nodusctl.render.style import Style
from nodusctl.render.tables import table

COST_HEADS = ("OBJECT", "OFFER", "RATE", "P50", "P90", "AT MOST", "COVERS", "PRICE")
_NUMBERS = ("RATE", "P50", "P90", "AT MOST")
_LAID_OUT = 40
FOOTNOTE = (
    "Before tax. Not counted: traffic, tax. At most is at the ceiling (rate + 10 %), with rounding, minimum and stop; storage is for 730 h."
)


def cost_lines(plan: Plan, style: Style) -> Iterator[str]:
    """The table, what stands beside it, the change against now, and the footnote; nothing for a plan that costs and saves nothing."""
    priced = priced_lines(plan)
    if priced:
        rows = [cost_row(line) for line in priced]
        if plan.totals is not None:
            rows.append(total_row(plan.totals))
        yield _table(rows, style)
        yield from (f"  {remark}" for remark in cost_remarks(plan))
    yield from (f"  {line}" for line in comparison_lines(plan.comparison))
    if priced:
        yield f"  {FOOTNOTE}"


def priced_lines(plan: Plan) -> tuple[CostLine, ...]:
    """The lines that stand in the table: those with an offer, and storage."""
    return tuple(line for line in plan.costs if line.offering or line.lines)


def cost_remarks(plan: Plan, *, hold: str = "first hold") -> Iterator[str]:
    """What stands beside the table, each remark once with the objects it is true for. ``hold`` is what a first hold is called."""
    yield from _grouped((text, str(line.address)) for line in priced_lines(plan) for text in _beside(line, hold))


def warning_lines(plan: Plan, style: Style) -> Iterator[str]:
    """Estimate warnings, each code and message once with the objects it is true for."""
    told: dict[tuple[str, str], list[str]] = {}
    for line in plan.costs:
        for warning in line.warnings:
            told.setdefault(warning, []).append(str(line.address))
    for (code, message), addresses in told.items():
        yield f"  {style.paint(f'warning[{code}]', 'yellow', 'bold')} {_some(addresses)}: {message}"


def _grouped(facts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Each text once, with the objects it is true for, in the order they first come."""
    told: dict[str, list[str]] = {}
    for text, address in facts:
        told.setdefault(text, []).append(address)
    yield from (f"{_some(addresses)}: {text}" for text, addresses in told.items())


def _some(addresses: list[str]) -> str:
    return ", ".join(addresses[:3]) + (f" and {len(addresses) - 3} more" if len(addresses) > 3 else "")


def _table(rows: list[tuple[str, ...]], style: Style) -> str:
    """Wrapped into its columns on a terminal; one line a row in a pipe and in a long table, where laying it out would take seconds."""
    if style.width and len(rows) <= _LAID_OUT:
        return table(COST_HEADS, rows, style, right=_NUMBERS, indent=2)
    widths = [max(len(row[column]) for row in (COST_HEADS, *rows)) for column in range(len(COST_HEADS))]
    lines = [_columns(row, widths) for row in (COST_HEADS, *rows)]
    return "\n".join([style.paint(lines[0], "bold"), *lines[1:]])


def _columns(row: tuple[str, ...], widths: list[int]) -> str:
    cells = (
        text.rjust(width) if head in _NUMBERS else text.ljust(width) for head, text, width in zip(COST_HEADS, row, widths, strict=True)
    )
    return "  " + "  ".join(cells).rstrip()


def cost_row(line: CostLine) -> tuple[str, ...]:
    """The cells of one line under ``COST_HEADS``."""
    rate = f"{line.rate_usd_per_hour.shown}/h" if line.rate_usd_per_hour is not None else "unknown" if line.offering else ""
    return (
        str(line.address),
        line.offering,
        rate,
        _amount(line.p50_usd),
        _amount(line.p90_usd),
        _most(line.at_most_usd, has_limit=line.has_limit, is_at_least=False),
        _covers(line),
        _price(line),
    )


def _covers(line: CostLine) -> str:
    """``until the cap, about 8h31m``; ``next window, its cap after about 2h``."""
    if not line.cap_after:
        return line.horizon
    own = "" if line.horizon == Horizon.CAP.value else "its cap after "
    return f"{line.horizon}, {own}about {age_text(line.cap_after)}"


def total_row(totals: Totals) -> tuple[str, ...]:
    """The cells of the last line: at least what is known, no limit where one line has none."""
    at_least = "at least " if totals.is_at_least else ""
    return (
        "Total",
        "",
        "",
        f"{at_least}{totals.p50_usd.shown}",
        f"{at_least}{totals.p90_usd.shown}",
        _most(totals.at_most_usd, has_limit=totals.has_limit, is_at_least=totals.is_at_least),
        "",
        "",
    )


def _amount(amount: Money | None) -> str:
    return "unknown" if amount is None else amount.shown


def _most(amount: Money | None, *, has_limit: bool, is_at_least: bool) -> str:
    if not has_limit:
        return "no limit"
    return ("at least " if is_at_least else "") + _amount(amount)


def _price(line: CostLine) -> str:
    if not line.offering:
        return ""
    if line.price_observed_at is None:
        return line.price_source or line.price_origin
    return (
        f"{line.price_origin}, {line.price_age} old ({line.price_source})"
        if line.price_age != "now"
        else f"{line.price_origin} now ({line.price_source})"
    )


def _beside(line: CostLine, hold: str) -> Iterator[str]:
    yield from line.lines
    if line.band_source and line.estimate.get("startup"):
        band = line.estimate["startup"]["cold"]
        yield f"ready in about {band['p50']}, p90 {band['p90']} ({line.band_source})"
    if line.hold_usd is not None:
        yield f"{'hold of all workers at once' if line.address.kind == 'function' else hold} {line.hold_usd.shown}"
    if line.stops_at is not None:
        yield f"stops by {format_time(line.stops_at.replace(microsecond=0))} at the latest: {line.horizon}"
