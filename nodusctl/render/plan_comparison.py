"""The change against what the state has now, in words: rates, a month, and the difference where both sides are known."""

from __future__ import annotations

from collections.abc import Iterator

from nodusctl.base.money import ZERO, Money
from nodusctl.plan.comparison import Comparison, Running

COMPARED = "If everything ran for 730 h, whatever its cap, with storage"


def comparison_lines(comparison: Comparison | None, remark: str = "") -> Iterator[str]:
    """``Against the state now: …``; nothing where no cost changes. ``remark`` stands in brackets behind what is compared."""
    if comparison is None or not comparison.changes:
        return
    now, after = comparison.now, comparison.after
    hour_now, hour_after = _amount(now.rate_usd_per_hour, now.lacks_rate, "/h"), _amount(after.rate_usd_per_hour, after.lacks_rate, "/h")
    rate = _sides(hour_now, hour_after, _rate(now, after))
    month = _sides(_amount(now.monthly_usd, now.lacks_month), _amount(after.monthly_usd, after.lacks_month), _month(now, after))
    yield f"Against the state now: {rate}. {COMPARED}{f' ({remark})' if remark else ''}: {month}."


def unchanged_lines(comparison: Comparison | None) -> Iterator[str]:
    """What runs on at the same cost beside what changes; nothing where nothing does, or where a rate is unknown."""
    if comparison is None or not comparison.changes or comparison.now.lacks_rate:
        return
    rate = sum((change.now.rate_usd_per_hour for change in comparison.changes), ZERO)
    if comparison.now.rate_usd_per_hour > rate:
        yield f"In both: {(comparison.now.rate_usd_per_hour - rate).shown}/h of objects whose cost doesn't change."


def shown_change(now: Running, after: Running) -> str:
    """``+$30.80/h, +$22,484.00 a month``; the month alone for storage; ``unknown`` where a side is: it must not look like a saving."""
    if now.lacks_month or after.lacks_month:
        return "unknown"
    rate, month = after.rate_usd_per_hour - now.rate_usd_per_hour, after.monthly_usd - now.monthly_usd
    return f"{signed(rate)}/h, {signed(month)} a month" if rate else f"{signed(month)} a month" if month else "none"


def signed(amount: Money) -> str:
    """``+$1.00`` or ``-$1.00``."""
    return amount.shown if amount < ZERO else f"+{amount.shown}"


def _rate(now: Running, after: Running) -> str:
    is_known = not (now.lacks_rate or after.lacks_rate)
    return f"{signed(after.rate_usd_per_hour - now.rate_usd_per_hour)}/h" if is_known else ""


def _month(now: Running, after: Running) -> str:
    is_known = not (now.lacks_month or after.lacks_month)
    return signed(after.monthly_usd - now.monthly_usd) if is_known else ""


def _sides(now: str, after: str, difference: str) -> str:
    if difference and now == after:
        return f"{now} as before"
    return f"{now} -> {after}" + (f" ({difference})" if difference else "")


def _amount(amount: Money, is_at_least: bool, unit: str = "") -> str:
    if not is_at_least:
        return f"{amount.shown}{unit}"
    return f"at least {amount.shown}{unit}" if amount else "unknown"
