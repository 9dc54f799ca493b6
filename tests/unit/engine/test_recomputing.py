"""The checker's own arithmetic: figures worked out by hand, and agreement with the one that posts, which shares no code with it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.history import START, terms_of

from nodusctl.base.money import Money
from nodusctl.engine.recomputing import OwnSegments, own_charge, own_segments
from nodusctl.pricing.charge import charge, elapsed_seconds, segment_seconds, segments
from nodusctl.state.terms import Terms


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("seconds", "increment", "minimum", "micro"),
    [
        (0, 1, 60, 0),
        (1, 1, 60, 73_333),
        (61, 1, 60, 74_556),
        (61, 60, 60, 146_667),
        (3600, 3600, 0, 4_400_000),
        (3600.000001, 3600, 0, 8_800_000),
        (0.5, 1, 0, 1_222),
    ],
)
def test_a_charge_is_rounded_up_in_time_once_and_half_up_in_money_once(seconds: float, increment: int, minimum: int, micro: int) -> None:
    terms = terms_of(rate_usd_per_hour=Money.parse("4.40"), increment_seconds=increment, minimum_seconds=minimum)
    assert own_charge(START, after(seconds), terms) == micro


def test_nothing_allocated_and_an_end_before_the_beginning_cost_nothing() -> None:
    assert own_charge(None, START, terms_of()) == 0
    assert own_charge(START, START - timedelta(hours=1), terms_of()) == 0


def test_a_half_micro_dollar_is_rounded_up() -> None:
    terms = terms_of(rate_usd_per_hour=Money(1800), increment_seconds=1, minimum_seconds=0)
    assert own_charge(START, after(1), terms) == 1, "half a micro-USD"


def test_a_replacement_restores_where_a_first_machine_boots() -> None:
    terms = terms_of(rate_usd_per_hour=Money(3600), increment_seconds=1, minimum_seconds=0)
    moments = (START, after(100), after(500), after(530), terms)
    assert own_segments(*moments, is_replacement=False) == OwnSegments(100, 0, 400, 30)
    assert own_segments(*moments, is_replacement=True) == OwnSegments(0, 100, 400, 30)


def test_a_machine_that_was_never_ready_booted_until_the_stop() -> None:
    terms = terms_of(rate_usd_per_hour=Money(3600), increment_seconds=1, minimum_seconds=0)
    assert own_segments(START, None, after(40), after(50), terms, is_replacement=False) == OwnSegments(40, 0, 0, 10)


_TERMS = st.builds(
    lambda rate, increment, minimum: terms_of(rate_usd_per_hour=Money(rate), increment_seconds=increment, minimum_seconds=minimum),
    st.integers(0, 10**8),
    st.sampled_from((1, 60, 3600)),
    st.sampled_from((0, 60, 3600)),
)
_SPAN = st.integers(-(10**6), 10**13).map(lambda micro: timedelta(microseconds=micro))
_MAYBE = st.none() | _SPAN


@given(_TERMS, _SPAN, _MAYBE, _MAYBE, st.booleans())
def test_both_ways_of_counting_always_agree(
    terms: Terms, ends: timedelta, ready: timedelta | None, stop: timedelta | None, is_replacement: bool
) -> None:
    end = START + ends
    ready_at, stop_at = (START + span if span is not None else None for span in (ready, stop))
    rounding = (terms.rate_usd_per_hour, terms.increment_seconds, terms.minimum_seconds)
    assert own_charge(START, end, terms) == charge(elapsed_seconds(ends), *rounding).micro
    own = own_segments(START, ready_at, stop_at, end, terms, is_replacement=is_replacement)
    parts = segment_seconds(billing_start=START, ready=ready_at, stop_asked=stop_at, end=end, is_replacement=is_replacement)
    theirs = segments(parts, *rounding)
    assert own == OwnSegments(theirs.boot.micro, theirs.restore.micro, theirs.running.micro, theirs.teardown.micro)
    assert own.boot + own.restore + own.running + own.teardown == own_charge(START, end, terms)
