"""Why this offer was taken."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from nodusctl.base.money import Money
from nodusctl.placement.explain import MOST_OFFERS, explanation, scores_of_terms
from nodusctl.placement.match import fitting
from nodusctl.placement.rank import rank
from nodusctl.placement.request import CapacityRequest, Profile
from nodusctl.state.terms import Terms, ceiling
from tests.unit.placement.offer_makers import priced


def test_an_explanation_has_scores_fallbacks_and_at_most_twenty_rejected() -> None:
    request = CapacityRequest(gpu_types=("l4",), gpu_count=1, profile=Profile.SPEED)
    candidates = [priced("l4-24g-x1-us", "1.10"), priced("l4-24g-x1-us", None, zone="us-1b")]
    candidates += [priced("h100-sxm-80g-x8-us", "35.20", zone=f"us-{n}") for n in range(30)]
    found = explanation(request, candidates, rank(request, fitting(request, candidates))).of("sim/us-1a/l4-24g-x1-us")
    assert found["scores"] == [
        {"offer": "sim/us-1a/l4-24g-x1-us", "usd": "1.10", "startupP90": "1m"},
        {"offer": "sim/us-1b/l4-24g-x1-us", "usd": "unknown", "startupP90": "1m"},
    ]
    assert found["fallbacks"] == ["sim/us-1b/l4-24g-x1-us"]
    rejected = found["rejected"]
    assert isinstance(rejected, list)
    assert len(rejected) == 20
    assert rejected[0] == {"offer": "sim/us-0/h100-sxm-80g-x8-us", "constraint": "family"}


def test_of_many_offers_those_that_may_be_tried_are_explained() -> None:
    request = CapacityRequest(gpu_types=("l4",), gpu_count=1)
    candidates = [priced("l4-24g-x1-us", "1.10", zone=f"us-{n:02}") for n in range(30)]
    found = explanation(request, candidates, rank(request, candidates))
    taken = found.order[3]
    assert len(found.scores) == MOST_OFFERS
    assert found.of(taken)["fallbacks"] == [key for key in found.order if key != taken]


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("is_interruptible", [False, True])
def test_approved_terms_have_the_score_their_offer_was_ranked_by(profile: Profile, is_interruptible: bool) -> None:
    one = priced("l4-24g-x1-us", "1.10")
    one = replace(one, offer=replace(one.offer, is_interruptible=is_interruptible))
    rate = Money.parse("1.10")
    terms = Terms(
        offer_key=one.offer.key,
        offering=one.offer.id,
        provider=one.offer.provider,
        instance_type=one.offer.instance_type,
        zone=one.offer.zone,
        location=one.offer.location,
        region_class=one.offer.region_class,
        is_interruptible=is_interruptible,
        rate_usd_per_hour=rate,
        ceiling_usd_per_hour=ceiling(rate),
        price_origin="quoted",
        price_source="world",
        price_observed_at=None,
        book_version="test",
        increment_seconds=one.offer.increment_seconds,
        minimum_seconds=one.offer.minimum_seconds,
        stop_bound=timedelta(minutes=1),
        startup_p50=one.startup_p50,
        startup_p90=one.startup_p90,
    )
    request = CapacityRequest(gpu_types=("l4",), gpu_count=1, profile=profile)
    assert scores_of_terms([terms], profile) == explanation(request, [one], rank(request, [one])).scores
