"""The cost table of a comment: p50, p90, at most, and the change against what the state has now, a row an object.

An object that goes has a row too, with its change and nothing else. The total is over all rows, shown or not.
"""

from __future__ import annotations

from collections.abc import Mapping

from nodusctl.base.ids import Address
from nodusctl.plan.comparison import CostChange
from nodusctl.plan.costs import CostLine
from nodusctl.plan.plan import Plan
from nodusctl.render.comment_text import cell, row, table_head, word_cell
from nodusctl.render.plan_comparison import shown_change
from nodusctl.render.plan_costs import cost_row, priced_lines, total_row

_HEADS = ("object", "offer", "rate", "p50", "p90", "at most", "covers", "change against now", "price")
_NUMBERS = ("rate", "p50", "p90", "at most", "change against now")
_CHANGE = _HEADS.index("change against now")


def cost_head() -> list[str]:
    """The two lines above the rows."""
    return table_head(_HEADS, _NUMBERS)


def cost_rows(plan: Plan) -> dict[Address, str]:
    """Each object's row, in the order of the plan's cost lines, then of the objects that only stop costing."""
    changes = {change.address: change for change in (plan.comparison.changes if plan.comparison is not None else ())}
    rows = {line.address: _row(line, changes.get(line.address)) for line in priced_lines(plan)}
    return {**rows, **{address: _gone(change) for address, change in changes.items() if address not in rows}}


def cost_total(plan: Plan, rows: Mapping[Address, str]) -> str:
    """The last row; empty for a plan without amounts."""
    compared = plan.comparison
    if not rows or (plan.totals is None and compared is None):
        return ""
    cells = list(total_row(plan.totals)) if plan.totals is not None else ["Total", *[""] * 7]
    shown = [f"**{text}**" if text else "" for text in cells]
    change = shown_change(compared.now, compared.after) if compared is not None else ""
    return row([*shown[:_CHANGE], f"**{change}**" if change else "", *shown[_CHANGE:]])


def _row(line: CostLine, change: CostChange | None) -> str:
    address, offer, rate, p50, p90, most, covers, price = cost_row(line)
    told = shown_change(change.now, change.after) if change is not None else "none"
    return row([cell(address), cell(offer), rate, p50, p90, most, word_cell(covers), told, word_cell(price)])


def _gone(change: CostChange) -> str:
    return row([cell(str(change.address)), *[""] * 6, shown_change(change.now, change.after), ""])
