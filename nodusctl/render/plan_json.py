"""A plan as JSON: the whole of it with its hash, money as text, and lists that are there even when they are empty."""

from __future__ import annotations

from typing import Any

from nodusctl.plan.actions import Verb
from nodusctl.plan.costs import CostLine
from nodusctl.plan.encoding import as_json
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan
from nodusctl.plan.reasons import BlockingReason
from nodusctl.render.plan_changes import mark_of

_LISTS = ("due", "burning", "runningOn", "timetables", "hints", "diagnostics")


def plan_document(plan: Plan, *, stale: str | None = None) -> dict[str, Any]:
    """The plan for ``--json``. ``stale`` is why a saved plan can't be applied any more (None: it can, as far as is known)."""
    whole = as_json(plan)
    return {
        **{name: [] for name in _LISTS},
        **whole,
        "planHash": plan_hash(plan),
        "actions": [{"mark": mark_of(one), **as_json(one)} for one in plan.actions],
        "costs": [_cost(line) for line in plan.costs],
        "reasons": [_reason(reason) for reason in plan.reasons],
        "counts": {verb.value: plan.counts[verb] for verb in Verb},
        "hasChanges": plan.has_changes,
        "isBlocked": plan.is_blocked,
        "stale": stale is not None,
        **({"staleReason": stale} if stale is not None else {}),
    }


def _cost(line: CostLine) -> dict[str, Any]:
    """``funnel`` as objects, so that text and JSON tell the same numbers."""
    funnel = [{"constraint": name, "remaining": count} for name, count in line.funnel]
    warnings = [{"code": code, "message": message} for code, message in line.warnings]
    return {**as_json(line), "hasLimit": line.has_limit, "funnel": funnel, "warnings": warnings}


def _reason(reason: BlockingReason) -> dict[str, Any]:
    return {**as_json(reason), "scope": reason.scope.value}
