"""What an object at rest does about its schedule and windows: begin an opening, or pass it over with a reason; each once.

Late by up to 30 minutes it still begins, bound by the same end; later only where its owner said so. Money that isn't there passes the
opening over too, and raising a cap later starts nothing by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from nodusctl.ledger.balances import balances
from nodusctl.lifecycle.edges import edge_of
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import Mark, MarkKind
from nodusctl.lifecycle.windows import LATE_LIMIT, LATE_START, Opening, has_openings, unused_until, windows_digest
from nodusctl.state.status import StopReason


def next_opening_step(situation: Situation) -> Mark | None:
    """The mark that is due for the windows of an object at rest; None where nothing is."""
    record, standing = situation.record, situation.status.windows
    if not has_openings(record.spec, record.annotations) and standing is None:
        return None
    if standing is None or standing.digest != windows_digest(record.spec, record.annotations):
        return Mark(what=MarkKind.SETTLE_WINDOWS, because="its windows are new or have changed")
    if record.spec.get("state", "Running") != "Running":
        return None
    due = unused_until(record.spec, record.annotations, situation.rules.window_lead, situation.now, standing)
    return _begin_or_skip(situation, due[0]) if due else None


def _begin_or_skip(situation: Situation, opening: Opening) -> Mark:
    if not opening.is_real:
        swallowed = "a change of the clock left less than a minute of it"
        return Mark(what=MarkKind.SKIP_OPENING, reason="WindowTooShort", message=swallowed, opening=opening, because=swallowed)
    if not opening.is_open(situation.now) or is_too_late(opening, situation.record.annotations, situation.now):
        missed = "nothing looked after it in time: is a ticker running?"
        return Mark(what=MarkKind.SKIP_OPENING, reason="MissedWindow", message=missed, opening=opening, because="a window was missed")
    if situation.record.approval is None:
        never = "no offer was ever approved for it"
        return Mark(what=MarkKind.SKIP_OPENING, reason="NoApproval", message=never, opening=opening, because=never)
    money = _lacking_money(situation)
    if money is not None:
        reason, message = money
        return Mark(what=MarkKind.SKIP_OPENING, reason=str(reason), message=message, opening=opening, because="there is no money for it")
    return Mark(what=MarkKind.BEGIN_START, reason="window", opening=opening, because="its window opens")


def is_too_late(opening: Opening, annotations: Mapping[str, str], now: datetime) -> bool:
    """True once it may no longer begin, unless its owner allowed a late start."""
    return annotations.get(LATE_START) != "true" and now > opening.start + LATE_LIMIT


def _lacking_money(situation: Situation) -> tuple[StopReason, str] | None:
    approval = situation.record.approval
    edges = [edge_of(situation, terms) for terms in (approval.terms if approval else ())]
    used = balances(situation.entries).object(situation.uid)
    if edges and all(edge.is_too_small for edge in edges):
        return StopReason.MAX_COST_REACHED, f"{(used.charged + used.held).shown} of maxCostUSD are used"
    if edges and all(edge.is_over_budget for edge in edges):
        return StopReason.BUDGET_EXCEEDED, f"a hold of {edges[0].hold_usd.shown} is more than its Budgets have left"
    if edges and all(edge.is_unfunded for edge in edges):
        return StopReason.UNFUNDED, f"a hold of {edges[0].hold_usd.shown} is more than is left of what was granted"
    return None
