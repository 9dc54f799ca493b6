"""The objects a comment names because they run on as they are: a line each, at most fifty, and the rest counted."""

from __future__ import annotations

from collections.abc import Iterable

from nodusctl.base.money import total
from nodusctl.base.redaction import one_line
from nodusctl.plan.plan import Plan, RunningOn
from nodusctl.render.comment_text import block_lines, shortened
from nodusctl.render.counting import counted

MOST_RUNNING = 50
_LONGEST = 300


def running_lines(plan: Plan) -> tuple[str, ...]:
    """``workspace/ana l4-24g-x1-us $1.10/h``, each as it may stand in a fence."""
    told = (one_line(_line(one)) for one in plan.running_on[:MOST_RUNNING])
    return tuple(block_lines(shortened(text, _LONGEST) for text in told))


def running_head(plan: Plan) -> str:
    """``3 objects run on as they are, $1.50/h``; at least that where some rate is unknown."""
    rates = [one.rate_usd_per_hour for one in plan.running_on]
    known = [rate for rate in rates if rate is not None]
    least = "at least " if len(known) < len(rates) else ""
    verb = "runs" if len(rates) == 1 else "run"
    rate = f"{least}{total(known).shown}/h" if known else "rate unknown"
    return f"{counted(len(rates), 'object')} {verb} on unchanged, {rate}"


def not_named(plan: Plan, named: Iterable[str]) -> str:
    """How many of them are not named; empty where all are."""
    missing = len(plan.running_on) - len(tuple(named))
    return f"{missing} more run on unchanged." if missing else ""


def _line(one: RunningOn) -> str:
    rate = f"{one.rate_usd_per_hour.shown}/h" if one.rate_usd_per_hour is not None else "rate unknown"
    return f"{one.address} {one.offering} {rate}"
