"""Until when an allocation bills: its end, its machine's end, its edge where that ends the bill, else now; and never above its hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.situations import NOW, terms

from nodusctl.base.money import ZERO, Money
from nodusctl.ledger.billed import Billing
from nodusctl.pricing.caps import BillingTerms
from nodusctl.pricing.charge import charge, elapsed_seconds
from nodusctl.state.terms import Terms

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HARD, SOFT = terms(edge_ends_billing=True), terms()
UP = Billing(terms=HARD, began=NOW, edge=NOW + 8 * HOUR, machine_ended=None, ended=None)
LAST = NOW + 8 * HOUR + HARD.stop_bound


def test_while_its_edge_is_ahead_it_bills_until_now() -> None:
    assert UP.until(NOW + HOUR) == NOW + HOUR
    assert not UP.is_past_edge(NOW + HOUR)


def test_past_its_edge_and_the_stop_bound_nothing_more_is_counted() -> None:
    assert UP.until(NOW + DAY) == LAST
    assert UP.is_past_edge(NOW + DAY)
    assert not UP.is_past_edge(LAST), "at the bound itself it may still be ending"


def test_where_a_shutdown_ends_no_bill_it_bills_until_now() -> None:
    soft = replace(UP, terms=SOFT)
    assert soft.until(NOW + DAY) == NOW + DAY
    assert not soft.is_past_edge(NOW + DAY)


def test_what_its_machine_told_last_goes_before_the_edge() -> None:
    told = replace(UP, machine_ended=NOW + HOUR)
    assert told.until(NOW + DAY) == told.shown_until(NOW + DAY, ZERO) == NOW + HOUR


def test_a_confirmed_end_goes_before_everything_and_is_never_clamped() -> None:
    over = replace(UP, machine_ended=NOW + HOUR, ended=NOW + 9 * HOUR)
    assert over.until(NOW + DAY) == over.shown_until(NOW + DAY, ZERO) == NOW + 9 * HOUR
    assert not over.is_past_edge(NOW + DAY)


@pytest.mark.parametrize("unknown", [{"edge": None}, {"terms": None}])
def test_without_an_edge_or_terms_it_bills_until_now(unknown: dict[str, None]) -> None:
    assert replace(UP, **unknown).until(NOW + DAY) == NOW + DAY  # type: ignore[arg-type]


FROZEN = st.builds(
    lambda rate, increment, minimum, is_spot: terms(
        rate_usd_per_hour=Money(rate),
        ceiling_usd_per_hour=Money(rate + rate // 10 + 1),
        increment_seconds=increment,
        minimum_seconds=minimum,
        is_interruptible=is_spot,
        edge_ends_billing=True,
    ),
    st.integers(1, 100_000_000),
    st.sampled_from([1, 60, 3600]),
    st.sampled_from([0, 60, 3600]),
    st.booleans(),
)


@given(
    FROZEN,
    st.timedeltas(timedelta(minutes=1), 72 * HOUR),
    st.timedeltas(timedelta(0), timedelta(seconds=30)),
    st.timedeltas(timedelta(0), 30 * DAY),
)
def test_what_is_shown_never_exceeds_the_hold_however_late_the_edge_was_read_back(
    frozen: Terms, runs: timedelta, late: timedelta, passed: timedelta
) -> None:
    hold = BillingTerms.frozen(frozen).charge(runs + frozen.stop_bound)
    billing = Billing(terms=frozen, began=NOW, edge=NOW + runs + late, machine_ended=None, ended=None)
    now = NOW + runs + late + frozen.stop_bound + timedelta(seconds=1) + passed
    shown = billing.shown_until(now, hold)
    assert NOW <= shown <= billing.until(now)
    assert charge(elapsed_seconds(shown - NOW), frozen.rate_usd_per_hour, frozen.increment_seconds, frozen.minimum_seconds) <= hold
