"""What an allocation costs, to the last micro-USD."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from nodusctl.base.money import ZERO, Money
from nodusctl.placement.rounding import billed_seconds
from nodusctl.pricing.charge import SegmentSeconds, charge, segment_seconds, segments

RATE = Money.parse("1.10")
START = datetime(2026, 10, 26, 9, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("seconds", "increment", "minimum", "billed"),
    [(0, 60, 3600, 0), (1, 1, 60, 60), (61, 1, 60, 61), (61, 60, 0, 120), (120, 60, 0, 120), (1, 3600, 0, 3600), (90, 60, 100, 120)],
)
def test_time_is_rounded_up_to_the_increment_once_and_to_the_minimum(seconds: int, increment: int, minimum: int, billed: int) -> None:
    assert billed_seconds(seconds, increment, minimum) == billed


def test_a_fraction_of_a_second_counts_as_the_next_increment() -> None:
    assert billed_seconds(Fraction(60_000_001, 1_000_000), 1, 0) == 61


def test_an_hour_costs_the_rate_and_nothing_allocated_costs_nothing() -> None:
    assert charge(3600, RATE) == RATE
    assert charge(0, RATE, 3600, 3600) == ZERO


def test_the_amount_is_rounded_half_up_once() -> None:
    assert charge(1, Money(1800)) == Money(1)
    assert charge(1, Money(1799)) == Money(0)
    assert charge(3, Money(1800)) == Money(2)


@pytest.mark.parametrize(("seconds", "increment", "minimum"), [(-1, 1, 0), (1, 0, 0), (1, 1, -1)])
def test_impossible_times_are_refused(seconds: int, increment: int, minimum: int) -> None:
    with pytest.raises(ValueError, match="billed time"):
        charge(seconds, RATE, increment, minimum)


def test_segments_follow_the_times_of_an_attempt() -> None:
    parts = segment_seconds(billing_start=START, ready=at(45), stop_asked=at(3645), end=at(3665))
    assert parts == SegmentSeconds(boot=Fraction(45), running=Fraction(3600), teardown=Fraction(20))


def test_an_attempt_that_never_got_ready_is_boot_until_it_was_stopped() -> None:
    parts = segment_seconds(billing_start=START, ready=None, stop_asked=at(600), end=at(660))
    assert parts == SegmentSeconds(boot=Fraction(600), teardown=Fraction(60))


def test_a_replacement_restores_instead_of_booting() -> None:
    parts = segment_seconds(billing_start=START, ready=at(45), stop_asked=None, end=at(100), is_replacement=True)
    assert parts == SegmentSeconds(restore=Fraction(45), running=Fraction(55))


def test_nothing_allocated_has_no_segments() -> None:
    assert segment_seconds(billing_start=None, ready=None, stop_asked=None, end=START).total == 0


def test_teardown_takes_the_remainder_of_increment_and_minimum() -> None:
    parts = SegmentSeconds(boot=Fraction(10), running=Fraction(20), teardown=Fraction(5))
    divided = segments(parts, Money.parse("3.60"), 1, 60)
    assert (divided.boot, divided.running, divided.teardown) == (Money.parse("0.01"), Money.parse("0.02"), Money.parse("0.03"))
    assert divided.total == charge(35, Money.parse("3.60"), 1, 60)
