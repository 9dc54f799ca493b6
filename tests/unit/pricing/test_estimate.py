"""The estimate printed before anything is made."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from nodusctl.base.money import ZERO, Money
from nodusctl.pricing.bands import BandOrigin, DurationBand, duration_band
from nodusctl.pricing.book import EMPTY_BOOK
from nodusctl.pricing.estimate import Basis, FunctionRun, Horizon, WorkspaceRun, estimate_function, estimate_workspace
from nodusctl.pricing.estimate_status import estimate_status
from nodusctl.pricing.figures import NO_LIMIT, Figure, figure_of, storage_line, sum_figures, sum_known
from nodusctl.pricing.holds import holds_price
from nodusctl.provider.offers import Quote
from tests.unit.placement.offer_makers import offer

NOW = datetime(2026, 10, 26, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def basis(offering: str = "l4-24g-x1-us", rate: str | None = "1.10", **changes: Any) -> Basis:
    given = Quote(rate_usd_per_hour=Money.parse(rate), observed_at=NOW, source="sim") if rate else None
    shape = offer(offering, quote=given, minimum_seconds=60, **changes)
    band = DurationBand(p50=timedelta(seconds=45), p90=MINUTE)
    return Basis(
        offer=shape,
        priced=holds_price(shape, EMPTY_BOOK, NOW),
        startup=band,
        stop_bound=MINUTE,
        book_version="2026-07-20.ab12cd34",
        now=NOW,
    )


def test_a_window_is_charged_to_its_end_and_the_teardown() -> None:
    found = estimate_workspace(basis(rate="3.60"), WorkspaceRun(launch_at=NOW, window_end=NOW + timedelta(hours=2)))
    assert found.horizon is Horizon.WINDOW
    assert found.cost is not None
    assert (found.cost.p50, found.cost.p90, found.hold) == (Money.parse("7.23"), Money.parse("7.26"), Money.parse("7.26"))
    # the ceiling 3.96 for two hours, the stop bound and the minimum
    assert found.at_most == Figure(amount=Money.parse("8.052"))


def test_each_recovery_is_an_allocation_of_its_own_in_the_most_it_can_cost() -> None:
    run = WorkspaceRun(launch_at=NOW, window_end=NOW + timedelta(hours=2), recoveries=3)
    assert estimate_workspace(basis(rate="3.60"), run).at_most.amount == Money.parse("8.448")


def test_a_cap_without_a_window_is_the_horizon_and_the_most() -> None:
    found = estimate_workspace(basis("cpu-4c-16g-us", "0.20"), WorkspaceRun(launch_at=NOW, remaining=Money.parse("5.00")))
    assert (found.horizon, found.runs_for) == (Horizon.CAP, timedelta(hours=25) - MINUTE)
    assert found.cost is not None
    assert (found.cost.p90, found.at_most.shown) == (Money.parse("5.00"), "$5.00")
    assert found.hold == Money.parse("1.603333")


def test_without_cap_or_window_it_is_a_month_and_has_no_limit() -> None:
    found = estimate_workspace(basis(), WorkspaceRun(launch_at=NOW))
    assert (found.horizon, found.at_most.shown) == (Horizon.MONTH, "no limit")
    assert found.cost is not None
    assert found.cost.p50 == found.monthly_rate == Money.parse("803.00")


def test_a_cap_bounds_a_window_that_would_cost_more() -> None:
    run = WorkspaceRun(launch_at=NOW, window_end=NOW + timedelta(days=9), remaining=Money.parse("2.00"))
    found = estimate_workspace(basis(), run)
    assert found.cost is not None
    assert found.cost.p90 <= Money.parse("2.00")
    assert (found.hold, found.at_most.amount) == (Money.parse("2.00"), Money.parse("2.00"))


def test_own_hardware_without_a_rate_is_free_warned_of_and_limited() -> None:
    found = estimate_workspace(basis(rate=None, is_own_hardware=True), WorkspaceRun(launch_at=NOW))
    assert (found.rate, found.hold, found.at_most.shown) == (ZERO, ZERO, "$0.00")
    assert [warning.code for warning in found.warnings] == ["ColdStart", "FreeCapacity"]


def test_an_unknown_price_leaves_every_amount_out_and_the_most_at_least() -> None:
    found = estimate_workspace(basis(rate=None), WorkspaceRun(launch_at=NOW, remaining=Money.parse("5")))
    assert (found.cost, found.hold, found.rate, found.minimum_charge, found.monthly_rate) == (None,) * 5
    assert found.at_most.shown == "at least $0.00"


def test_interruptible_capacity_is_held_at_its_ceiling_and_warned_of() -> None:
    found = estimate_workspace(
        basis(rate="1.00", is_interruptible=True), WorkspaceRun(launch_at=NOW, lease_term=timedelta(hours=1) - MINUTE)
    )
    assert (found.rate, found.hold) == (Money.parse("1.00"), Money.parse("1.10"))
    assert "InterruptibleSelected" in [warning.code for warning in found.warnings]


def test_an_old_price_is_warned_of_with_its_age() -> None:
    priced = holds_price(
        offer("l4-24g-x1-us", quote=Quote(rate_usd_per_hour=Money.parse("1"), observed_at=NOW - timedelta(days=3), source="sim")),
        EMPTY_BOOK,
        NOW,
    )
    old = Basis(
        offer=offer("l4-24g-x1-us"),
        priced=priced,
        startup=DurationBand(p50=MINUTE, p90=MINUTE),
        stop_bound=MINUTE,
        book_version="v",
        now=NOW,
    )
    (warning,) = [w for w in estimate_workspace(old, WorkspaceRun(launch_at=NOW)).warnings if w.code == "PriceOld"]
    assert warning.message == "The price is 3d old (sim); it counts as current for 1d."


def test_warm_workers_count_for_the_function_and_the_hold_for_every_worker() -> None:
    found = estimate_function(basis(), FunctionRun(min_workers=2))
    assert found.warm_capacity == "warm capacity 2 x $1.10/h = $1,606.00 per 730 h"
    assert found.hold is not None
    assert found.concurrent_hold == found.hold * 10
    assert found.cost is not None
    assert (found.cost.p50, found.at_most) == (Money.parse("1606"), NO_LIMIT)


def test_a_capped_function_costs_at_most_what_remains() -> None:
    found = estimate_function(basis(), FunctionRun(min_workers=1, max_workers=2, nodes=2, remaining=Money.parse("5")))
    assert (found.at_most.amount, found.hold, found.gang_hold) == (Money.parse("5"), Money.parse("5"), Money.parse("10"))
    assert found.cost is not None and (found.cost.p50, found.cost.p90, found.horizon) == (Money.parse("5"), Money.parse("5"), Horizon.CAP)
    roomy = estimate_function(basis(), FunctionRun(min_workers=1, remaining=Money.parse("5000")))
    assert roomy.cost is not None and (roomy.cost.p90, roomy.horizon) == (Money.parse("803"), Horizon.WARM)


def test_the_status_has_the_field_names_of_the_seeds() -> None:
    found = estimate_workspace(basis(), WorkspaceRun(launch_at=NOW, remaining=Money.parse("5")))
    status = estimate_status(found, [{"code": "BudgetExceeded", "message": "…", "fix": "…"}])
    assert set(status) == {
        "costUSD",
        "overheadUSD",
        "holdUSD",
        "concurrentHoldUSD",
        "minimumChargeUSD",
        "rateUSDPerHour",
        "startup",
        "placementPreview",
        "pricebookVersion",
        "validUntil",
        "blockingReasons",
        "warnings",
    }
    assert (status["rateUSDPerHour"], status["minimumChargeUSD"]) == ("1.10", "0.018333")
    assert status["startup"] == {"cold": {"p50": "45s", "p90": "1m"}}
    assert status["validUntil"] == "2026-10-27T09:00:00Z"


def test_a_total_with_an_unknown_part_says_at_least_and_one_without_a_limit_says_so() -> None:
    assert sum_known([Money.parse("5"), None, Money.parse("1.50")]).shown == "at least $6.50"
    assert sum_known([]).shown == "$0.00"
    assert sum_figures([figure_of(Money.parse("5")), NO_LIMIT]).shown == "no limit"


def test_storage_is_a_line_of_its_own_and_may_be_unknown() -> None:
    assert storage_line("lab-home", 50 * 1024**3, Money.parse("0.10")).shown == "$5.00 per month"
    assert storage_line("lab-home", 50 * 1024**3, None).shown == "unknown"


def test_bands_come_from_history_only_where_there_are_eight_attempts() -> None:
    seven = [timedelta(seconds=s) for s in range(10, 80, 10)]
    assert duration_band(seven, MINUTE, 2 * MINUTE) == DurationBand(p50=MINUTE, p90=2 * MINUTE)
    eight = duration_band([*seven, timedelta(seconds=80)], MINUTE, 2 * MINUTE)
    assert (eight.p50, eight.p90, eight.origin) == (timedelta(seconds=40), timedelta(seconds=80), BandOrigin.HISTORY)
    assert eight.shown_origin == "from 8 starts"
