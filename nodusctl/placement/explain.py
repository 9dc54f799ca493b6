"""Why this offer: what was compared, what comes next, what was left out and by which constraint (objects.md, Attempt placement.explain)."""

from __future__ import annotations

from collections.abc import Sequence

from nodusctl.base.durations import format_duration
from nodusctl.placement.candidates import Candidate
from nodusctl.placement.match import CONSTRAINTS
from nodusctl.placement.rank import Ranked
from nodusctl.placement.request import CapacityRequest

MOST_REJECTED = 20


def explain(request: CapacityRequest, candidates: Sequence[Candidate], ranked: Sequence[Ranked]) -> dict[str, object]:
    """``scores`` of the ranked offers, ``fallbacks`` in the order they would be tried, and at most 20 ``rejected`` with the constraint."""
    rejected: list[dict[str, str]] = []
    for one in candidates:
        if len(rejected) == MOST_REJECTED:
            break
        against = next((rule.name for rule in CONSTRAINTS if not rule.keeps(request, one)), "")
        if against:
            rejected.append({"offer": one.offer.key, "constraint": against})
    return {
        "scores": [{"offer": one.key, **_score(one)} for one in ranked],
        "fallbacks": [one.key for one in ranked[1:]],
        "rejected": rejected,
    }


def _score(one: Ranked) -> dict[str, str]:
    amount = "unknown" if one.score_usd is None else str(one.score_usd)
    return {"usd": amount, "startupP90": format_duration(one.score_startup)}
