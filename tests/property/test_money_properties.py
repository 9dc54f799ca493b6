"""Money adds up, whatever happens: properties of charges, segments, stop points and the ledger."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from nodusctl.base.money import ZERO, Money
from nodusctl.ledger.balances import balances
from nodusctl.ledger.build import Subject, capture, grant, hold, renew, settle_attempt
from nodusctl.ledger.checks import unsound
from nodusctl.ledger.entries import Entry
from nodusctl.pricing.caps import BillingTerms, stop_point
from nodusctl.pricing.charge import SegmentSeconds, charge, segments

START = datetime(2026, 10, 26, tzinfo=UTC)
SUBJECT = Subject(object_address="workspace/lab", object_uid="uid", attempt_uid="attempt")

rates = st.integers(0, 200_000_000).map(Money)
increments = st.sampled_from([1, 60, 3600])
minimums = st.sampled_from([0, 1, 60, 600, 3600])
seconds = st.fractions(0, 10**6, max_denominator=10**6)


@given(seconds, seconds, rates, increments, minimums)
def test_a_longer_allocation_never_costs_less(first: Fraction, second: Fraction, rate: Money, increment: int, minimum: int) -> None:
    short, long = sorted((first, second))
    assert charge(short, rate, increment, minimum) <= charge(long, rate, increment, minimum)


@given(st.builds(SegmentSeconds, boot=seconds, restore=seconds, running=seconds, teardown=seconds), rates, increments, minimums)
def test_segments_add_up_to_the_charge_and_none_is_negative(parts: SegmentSeconds, rate: Money, increment: int, minimum: int) -> None:
    divided = segments(parts, rate, increment, minimum)
    assert divided.boot + divided.restore + divided.running + divided.teardown == charge(parts.total, rate, increment, minimum)
    assert min(divided.boot, divided.restore, divided.running, divided.teardown) >= ZERO


@given(st.integers(1, 200_000_000).map(Money), increments, minimums, st.integers(1, 900), st.integers(0, 10**9).map(Money))
def test_the_stop_point_is_affordable_and_a_second_later_is_not(
    rate: Money, increment: int, minimum: int, bound: int, remaining: Money
) -> None:
    terms = BillingTerms(rate_usd_per_hour=rate, increment_seconds=increment, minimum_seconds=minimum, stop_bound=timedelta(seconds=bound))
    point = stop_point(terms, remaining)
    if point is None:
        assert terms.charge(terms.stop_bound) > remaining
    elif point < timedelta(days=36_500):
        assert terms.charge(point + terms.stop_bound) <= remaining < terms.charge(point + terms.stop_bound + timedelta(seconds=1))


@given(
    st.integers(0, 10**8).map(Money),
    st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), max_size=6),
    st.integers(0, 10**8).map(Money),
)
def test_the_captures_of_an_attempt_sum_to_its_charge_and_nothing_stays_held(
    first_hold: Money, renewals: list[tuple[int, int]], total_charge: Money
) -> None:
    entries: list[Entry] = [grant("e0", START, Money(10**9)), hold("e1", START, SUBJECT, first_hold)]
    for number, (used, more) in enumerate(renewals):
        entries.append(renew(f"r{number}", START, SUBJECT, Money(more)))
        balance = balances(entries).attempt("attempt")
        part = min(Money(used), total_charge - balance.charged)
        entries.append(capture(f"c{number}", START, SUBJECT, part, held_now=balance.held))
    entries += settle_attempt(("f0", "f1"), START, SUBJECT, total_charge=total_charge, balance=balances(entries).attempt("attempt"))
    now = balances(entries)
    assert now.attempt("attempt").charged == total_charge
    assert now.attempt("attempt").held == ZERO
    assert now.available == Money(10**9) - total_charge
    assert all(sum(posting.amount.micro for posting in entry.postings) == 0 for entry in entries)
    assert unsound(entries, ["attempt"]) == ()
