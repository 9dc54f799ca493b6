"""Why nothing fits, and what would."""

from __future__ import annotations

from typing import Any

from nodusctl.placement.candidates import Candidate
from nodusctl.placement.funnel import match
from nodusctl.placement.request import request_from_spec
from tests.unit.placement.offer_makers import priced


def forty_offers() -> list[Candidate]:
    """40 offers: 12 of the H100 family, 6 of them with 8 GPUs (all 80 GiB), 2 of those in eu."""
    eight = [priced("h100-sxm-80g-x8-us", "21.40", zone=f"us-1{letter}") for letter in "abcd"]
    eight += [priced("h100-sxm-80g-x8-eu", rate, zone=zone) for rate, zone in (("21.40", "eu-1a"), ("23.00", "eu-1b"))]
    fewer = [priced("h100-sxm-80g-x1-us", "4.40", zone=f"us-2{letter}") for letter in "abcdef"]
    others = [priced("l4-24g-x1-us", "1.10", zone=f"us-3-{n}") for n in range(14)]
    others += [priced("cpu-4c-16g-us", "0.20", zone=f"us-4-{n}") for n in range(14)]
    return [*eight, *fewer, *others]


def ask(candidates: list[Candidate], **spec: Any) -> Any:
    return match(request_from_spec(spec), candidates)


def test_the_funnel_says_which_constraint_removed_how_many_and_the_smallest_change() -> None:
    gpu = {"type": ["H100"], "count": 8, "minMemory": "100Gi"}
    found = ask(forty_offers(), resources={"gpu": gpu}, placement={"maxRateUSDPerHour": "2.00", "regions": ["eu"]})
    assert found.fitting == ()
    assert found.funnel.shown == "40 -> family 12 -> count 6 -> memory 0"
    assert found.funnel.last_constraint == "memory"
    assert found.funnel.hint == "minMemory 80Gi gives 6 offers, then region 2, then rate 0 (cheapest $21.40)"


def test_the_funnel_is_the_same_in_json() -> None:
    gpu = {"type": ["H100"], "count": 8, "minMemory": "100Gi"}
    found = ask(forty_offers(), resources={"gpu": gpu})
    assert found.funnel.as_json() == {
        "total": 40,
        "steps": [
            {"constraint": "family", "remaining": 12},
            {"constraint": "count", "remaining": 6},
            {"constraint": "memory", "remaining": 0},
        ],
        "hint": "minMemory 80Gi gives 6 offers",
    }


def test_a_hint_whose_rest_fits_ends_with_what_is_left() -> None:
    gpu = {"type": ["H100"], "count": 8, "minMemory": "100Gi"}
    found = ask(forty_offers(), resources={"gpu": gpu}, placement={"maxRateUSDPerHour": "22.00", "regions": ["eu"]})
    assert found.funnel.hint == "minMemory 80Gi gives 6 offers, then region 2, then rate 1"


def test_too_low_a_rate_names_the_cheapest() -> None:
    found = ask(forty_offers(), resources={"gpu": {"type": ["L4"], "count": 1}}, placement={"maxRateUSDPerHour": "1.00"})
    assert found.funnel.shown == "40 -> family 14 -> count 14 -> rate 0"
    assert found.funnel.hint == "maxRateUSDPerHour 1.10 gives 14 offers"


def test_a_family_nobody_sells_is_answered_with_the_nearest_in_memory() -> None:
    found = ask(forty_offers(), resources={"gpu": {"type": ["A10"], "count": 1}})
    assert found.funnel.hint == "gpu.type L4 gives 14 offers, then count 14"


def test_cpu_work_never_matches_a_gpu_machine() -> None:
    found = ask(forty_offers(), resources={"cpu": "4", "memory": "16Gi"})
    assert {c.offer.id for c in found.fitting} == {"cpu-4c-16g-us"}
    assert found.funnel.shown == "40 -> without GPU 14 -> cpu 14 -> host memory 14"


def test_a_pinned_gpu_offering_serves_a_spec_that_asks_for_no_gpu() -> None:
    found = ask(forty_offers(), placement={"offerings": ["l4-24g-x1-us"]})
    assert {c.offer.id for c in found.fitting} == {"l4-24g-x1-us"}


def test_floors_that_nothing_meets_name_the_largest_machine() -> None:
    found = ask(forty_offers(), resources={"cpu": "64"})
    assert found.funnel.hint == "cpu 4 gives 14 offers"


def test_a_shape_sold_both_ways_counts_once_and_spot_is_left_out_by_default() -> None:
    both = [priced("l4-24g-x1-us", "1.10"), priced("l4-24g-x1-us", "0.40", is_interruptible=True)]
    gpu = {"type": ["L4"], "count": 1}
    never = ask(both, resources={"gpu": gpu})
    assert never.funnel.shown == "1 -> family 1 -> count 1"
    assert [c.offer.is_interruptible for c in never.fitting] == [False]
    assert len(ask(both, resources={"gpu": gpu}, placement={"interruptible": "Allow"}).fitting) == 2


def test_spot_only_capacity_is_hinted_at() -> None:
    found = ask([priced("l4-24g-x1-us", "0.40", is_interruptible=True)], resources={"gpu": {"type": ["L4"], "count": 1}})
    assert found.funnel.shown == "1 -> family 1 -> count 1 -> interruptible 0"
    assert found.funnel.hint == "interruptible Allow gives 1 offer"


def test_offers_are_filtered_by_where_an_existing_volume_is() -> None:
    request = request_from_spec({}, locations=["sim/us-4-3"])
    assert [c.offer.zone for c in match(request, forty_offers()).fitting] == ["us-4-3"]


def test_an_unknown_price_is_not_removed_by_a_maximum_rate() -> None:
    found = ask([priced("cpu-4c-16g-us", None)], placement={"maxRateUSDPerHour": "1.00"})
    assert len(found.fitting) == 1


def test_no_offer_at_all_is_an_empty_funnel_and_no_hint() -> None:
    found = ask([], resources={"gpu": {"type": ["L4"], "count": 1}})
    assert (found.funnel.total, found.funnel.hint, found.fitting) == (0, "", ())
