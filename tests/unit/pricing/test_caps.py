"""How long money lasts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from nodusctl.base.money import ZERO, Money
from nodusctl.pricing.caps import LONGEST, BillingTerms, cap_too_small, first_hold, stop_point

CHEAP = BillingTerms(rate_usd_per_hour=Money.parse("0.20"), minimum_seconds=60, stop_bound=timedelta(seconds=60))


def test_a_cap_of_five_dollars_at_twenty_cents_ends_a_minute_before_25_hours() -> None:
    assert stop_point(CHEAP, Money.parse("5.00")) == timedelta(hours=25) - timedelta(seconds=60)


def test_the_stop_point_is_the_last_second_that_is_affordable() -> None:
    terms = BillingTerms(rate_usd_per_hour=Money(3_333_333), increment_seconds=60, stop_bound=timedelta(seconds=90))
    remaining = Money.parse("0.5")
    point = stop_point(terms, remaining)
    assert point is not None
    assert terms.charge(point + terms.stop_bound) <= remaining < terms.charge(point + terms.stop_bound + timedelta(seconds=1))


def test_less_than_the_minimum_charge_has_no_stop_point() -> None:
    assert stop_point(CHEAP, Money(1)) is None
    assert stop_point(CHEAP, Money(-1)) is None


def test_free_capacity_is_never_stopped_by_money() -> None:
    assert stop_point(BillingTerms(rate_usd_per_hour=ZERO), Money.parse("0.01")) == LONGEST


def test_the_first_hold_covers_the_run_and_the_stop_bound_and_never_more_than_remains() -> None:
    terms = BillingTerms(rate_usd_per_hour=Money.parse("3.60"), stop_bound=timedelta(seconds=60))
    assert first_hold(terms, timedelta(hours=8), None) == Money.parse("28.86")
    assert first_hold(terms, timedelta(hours=8), Money.parse("5")) == Money.parse("5")


@pytest.mark.parametrize(("cap", "is_too_small"), [("0.000001", True), ("0.009999", True), ("0.01", False)])
def test_a_cap_is_too_small_where_it_ends_before_boot_and_a_minute(cap: str, is_too_small: bool) -> None:
    # boot p90 60 s + 1 min + stop bound 60 s = 180 s at 0.20/h = 0.01
    found = cap_too_small(CHEAP, Money.parse(cap), timedelta(seconds=60))
    assert (found is not None) == is_too_small
    if found is not None:
        assert found.smallest == Money.parse("0.01")
