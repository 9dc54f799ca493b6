"""The order in which fitting offers are tried."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from nodusctl.placement.candidates import Candidate
from nodusctl.placement.rank import rank
from nodusctl.placement.request import CapacityRequest, Interruptible, Profile
from nodusctl.provider.offers import Availability
from tests.unit.placement.offer_makers import priced


def order(candidates: list[Candidate], horizon_hours: int = 730, **wants: Any) -> list[str]:
    request = CapacityRequest(gpu_types=("l4",), gpu_count=1, **wants)
    return [one.key for one in rank(request, candidates, timedelta(hours=horizon_hours))]


def l4(zone: str, rate: str | None, boot_seconds: int = 60, **changes: Any) -> Candidate:
    boot = timedelta(seconds=boot_seconds)
    return priced("l4-24g-x1-us", rate, zone=zone, startup_p90=boot, startup_p50=boot, **changes)


def test_balanced_weighs_a_slow_start_as_a_quarter_hour_of_rate() -> None:
    # 1.10 x (1 + 900/900) = 2.20 against 2.00 x (1 + 60/900) = 2.13
    assert order([l4("a", "1.10", 900), l4("b", "2.00", 60)]) == ["sim/b/l4-24g-x1-us", "sim/a/l4-24g-x1-us"]


def test_cost_takes_the_cheapest_over_the_horizon_with_its_rounding() -> None:
    by_hour, by_second = l4("a", "1.00", 60, increment_seconds=3600), l4("b", "1.20", 60)
    assert order([by_hour, by_second], 1, profile=Profile.COST)[0] == "sim/b/l4-24g-x1-us"
    assert order([by_hour, by_second], 10, profile=Profile.COST)[0] == "sim/a/l4-24g-x1-us"


def test_speed_takes_the_fastest_start_then_the_rate() -> None:
    assert order([l4("a", "1.00", 90), l4("b", "9.00", 30), l4("c", "8.00", 30)], profile=Profile.SPEED) == [
        "sim/c/l4-24g-x1-us",
        "sim/b/l4-24g-x1-us",
        "sim/a/l4-24g-x1-us",
    ]


def test_equal_scores_go_to_own_hardware_then_to_the_offering_id() -> None:
    mine = l4("z", "1.10", is_own_hardware=True)
    other = priced("a10-24g-x1-us", "1.10", zone="b", startup_p90=timedelta(seconds=60))
    assert order([l4("a", "1.10"), other, mine]) == ["sim/z/l4-24g-x1-us", "sim/b/a10-24g-x1-us", "sim/a/l4-24g-x1-us"]


def test_an_unknown_price_comes_last_and_sold_out_before_it() -> None:
    sold_out = l4("b", "0.10", availability=Availability.SOLD_OUT)
    assert order([l4("a", None), sold_out, l4("c", "9.00")]) == ["sim/c/l4-24g-x1-us", "sim/b/l4-24g-x1-us", "sim/a/l4-24g-x1-us"]


def test_cpu_work_takes_the_smallest_machine_even_where_a_larger_one_is_cheaper() -> None:
    small, large = priced("cpu-4c-16g-us", "0.20"), priced("cpu-8c-32g-us", "0.10")
    assert [one.candidate.offer.id for one in rank(CapacityRequest(), [large, small])] == ["cpu-4c-16g-us", "cpu-8c-32g-us"]


def test_allow_takes_spot_only_where_its_expected_cost_is_lower() -> None:
    on_demand, cheap, hardly_cheaper = l4("a", "1.10"), l4("b", "0.44", is_interruptible=True), l4("c", "1.099", is_interruptible=True)
    ranked = order([on_demand, cheap, hardly_cheaper], interruptible=Interruptible.ALLOW)
    assert ranked == ["sim/b/l4-24g-x1-us/spot", "sim/a/l4-24g-x1-us", "sim/c/l4-24g-x1-us/spot"]


def test_prefer_takes_spot_first_whatever_it_costs() -> None:
    ranked = order([l4("a", "1.10"), l4("c", "1.099", is_interruptible=True)], interruptible=Interruptible.PREFER)
    assert ranked == ["sim/c/l4-24g-x1-us/spot", "sim/a/l4-24g-x1-us"]
