"""Why this offer was taken."""

from __future__ import annotations

from nodusctl.placement.explain import explain
from nodusctl.placement.match import fitting
from nodusctl.placement.rank import rank
from nodusctl.placement.request import CapacityRequest, Profile
from tests.unit.placement.offer_makers import priced


def test_an_explanation_has_scores_fallbacks_and_at_most_twenty_rejected() -> None:
    request = CapacityRequest(gpu_types=("l4",), gpu_count=1, profile=Profile.SPEED)
    candidates = [priced("l4-24g-x1-us", "1.10"), priced("l4-24g-x1-us", None, zone="us-1b")]
    candidates += [priced("h100-sxm-80g-x8-us", "35.20", zone=f"us-{n}") for n in range(30)]
    found = explain(request, candidates, rank(request, fitting(request, candidates)))
    assert found["scores"] == [
        {"offer": "sim/us-1a/l4-24g-x1-us", "usd": "1.10", "startupP90": "1m"},
        {"offer": "sim/us-1b/l4-24g-x1-us", "usd": "unknown", "startupP90": "1m"},
    ]
    assert found["fallbacks"] == ["sim/us-1b/l4-24g-x1-us"]
    rejected = found["rejected"]
    assert isinstance(rejected, list)
    assert len(rejected) == 20
    assert rejected[0] == {"offer": "sim/us-0/h100-sxm-80g-x8-us", "constraint": "family"}
