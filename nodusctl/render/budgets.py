"""Budgets and the granted balance, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nodusctl.base.money import Money
from nodusctl.base.timestamps import format_time
from nodusctl.engine.budget_report import BudgetLine, BudgetReport, Credits
from nodusctl.render.style import Style
from nodusctl.render.tables import table

_HEADS = ("NAME", "LIMIT", "PERIOD", "ACTION", "SPENT", "HELD", "LEFT", "USED", "BINDS", "SCOPE")
_NUMBERS = frozenset({"LIMIT", "SPENT", "HELD", "LEFT", "USED", "BINDS"})


def budgets_text(report: BudgetReport, style: Style) -> str:
    """A line a Budget, then what was granted."""
    parts = [table(_HEADS, [_row(one) for one in report.budgets], style, right=_NUMBERS)] if report.budgets else ["There is no Budget."]
    ends = next((one.status["currentPeriod"]["endTime"] for one in report.budgets if "currentPeriod" in one.status), "")
    parts += [f"\nA monthly Budget counts charges of this UTC month (it ends {ends}) and all that is held now."] if ends else []
    parts += [f"\n{words}" for words in _storage_lines(report)]
    parts += [f"\n{_balance(report.credits)}"] if report.credits.is_prepaid else []
    return "\n".join(parts)


def _storage_lines(report: BudgetReport) -> Iterator[str]:
    for one in report.budgets:
        if so_far := one.status.get("storageSoFarUSD"):
            yield f"{one.address.name}: {_dollars(so_far)} of storage so far is used too; it is posted at the end of the month."


def budgets_document(report: BudgetReport) -> dict[str, Any]:
    """The same as JSON; money as strings."""
    return {
        "budgets": [
            {"name": one.address.name, "spec": dict(one.spec), "status": dict(one.status), "binds": one.binds} for one in report.budgets
        ],
        **({"credits": credits_document(report.credits)} if report.credits.is_prepaid else {}),
    }


def credits_text(funds: Credits, style: Style) -> str:
    """What was granted, each time, and what is left of it."""
    if not funds.is_prepaid:
        return "Nothing was ever granted: what is used is paid for afterwards, and no balance is checked."
    rows = [[format_time(one.time.replace(microsecond=0)), one.postings[1].amount.shown, one.memo] for one in funds.grants]
    return "\n".join((table(("GRANTED AT", "AMOUNT", "MEMO"), rows, style, right={"AMOUNT"}), "", _balance(funds)))


def credits_document(funds: Credits) -> dict[str, Any]:
    """The same as JSON."""
    if not funds.is_prepaid:
        return {"isPrepaid": False}
    return {
        "isPrepaid": True,
        "grantedUSD": str(funds.granted),
        "chargedUSD": str(funds.charged),
        "heldUSD": str(funds.held),
        "availableUSD": str(funds.available),
        "grants": [{"time": format_time(one.time), "amountUSD": str(one.postings[1].amount), "memo": one.memo} for one in funds.grants],
    }


def _row(one: BudgetLine) -> list[str]:
    spec, status = one.spec, one.status
    return [
        one.address.name,
        _dollars(spec["limitUSD"]),
        str(spec.get("period", "Monthly")),
        str(spec.get("action", "Block")),
        *(_dollars(status[key]) for key in ("spentUSD", "heldUSD", "remainingUSD")),
        f"{status['percentUsed']} %",
        str(one.binds),
        _scope(spec.get("scope") or {}),
    ]


def _scope(scope: dict[str, Any]) -> str:
    selector = scope.get("selector") or {}
    parts = [f"project {scope['project']}"] if scope.get("project") else []
    parts += [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for one in selector.get("matchExpressions") or ():
        values = f" ({', '.join(one['values'])})" if one.get("values") else ""
        parts.append(f"{one['key']} {one['operator']}{values}")
    return ", ".join(parts) or "everything"


def _balance(funds: Credits) -> str:
    spent = f"{funds.charged.shown} charged, {funds.held.shown} held"
    return f"Of {funds.granted.shown} granted {funds.available.shown} is left ({spent}); every hold must fit it."


def _dollars(text: Any) -> str:
    return Money.parse(str(text)).shown
