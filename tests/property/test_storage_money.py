"""However a disk lives and whoever comes by when: its charges are what its stretches cost, each month's in its month, and nothing twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money, total
from nodusctl.engine.recomputing import own_storage
from nodusctl.ledger.balances import balances, month_of
from nodusctl.ledger.checks import unsound
from nodusctl.ledger.entries import Entry
from nodusctl.ledger.room import Tally, month_key
from nodusctl.ledger.storage import accrued, posted_until, storage_captures
from nodusctl.pricing.storage import storage_charge
from nodusctl.state.status import StorageStretch, VolumeStanding

BEGAN = datetime(2026, 1, 20, 21, 17, 3, 250_000, tzinfo=UTC)
HOME, UID = Address("volume", "home"), "v1"
rates = st.integers(1, 5_000_000).map(Money)
spans = st.integers(1, 120 * 24 * 3600 * 1000).map(lambda milli: timedelta(milliseconds=milli))
sizes = st.integers(1, 2**45)


def disk(size: int, rate: Money | None, since: datetime = BEGAN) -> VolumeStanding:
    return VolumeStanding(disk_id="d-1", storage=StorageStretch(since=since, size_bytes=size, usd_per_gib_month=rate))


def charged(entries: tuple[Entry, ...]) -> Money:
    return balances(entries).object(UID).charged


def posted(standing: VolumeStanding, until: datetime) -> tuple[tuple[Entry, ...], VolumeStanding]:
    assert standing.storage is not None
    entries = storage_captures(HOME, UID, standing, until)
    return entries, replace(standing, storage=posted_until(standing.storage, until))


def by_months(size: int, rate: Money, begins: datetime, ends: datetime) -> Money:
    """The rule, in one loop: every month by itself, rounded once."""
    amount = 0
    while begins < ends:
        cut = min(month_of(begins)[1], ends)
        seconds = Fraction((cut - begins) // timedelta(microseconds=1), 10**6)
        amount += Money.from_fraction(Fraction(rate.micro, 10**6) * Fraction(size, 2**30) * seconds / (730 * 3600)).micro
        begins = cut
    return Money(amount)


@given(sizes, rates, spans, st.lists(spans, max_size=6))
def test_the_sum_of_charges_is_the_recomputation_whoever_looks_when(
    size: int, rate: Money, length: timedelta, looks: list[timedelta]
) -> None:
    standing, entries = disk(size, rate), ()
    for look in sorted(one for one in looks if one < length):
        assert standing.storage is not None
        due = standing.storage.month_ends
        assert due == month_of(standing.storage.since)[1]
        if due <= BEGAN + look:
            made, standing = posted(standing, month_of(BEGAN + look)[0])
            entries = (*entries, *made)
    made, standing = posted(standing, BEGAN + length)
    entries = (*entries, *made)
    assert charged(entries) == by_months(size, rate, BEGAN, BEGAN + length)
    assert unsound(entries) == ()
    assert all(sum(posting.amount.micro for posting in entry.postings) == 0 for entry in entries)
    assert len({month_key(entry.time) for entry in entries}) == len(entries), "a month is charged once"
    assert storage_captures(HOME, UID, standing, BEGAN + length) == ()


@given(sizes, rates, spans)
def test_what_accrues_is_what_would_be_posted_and_a_month_of_it_is_what_a_budget_counts(size: int, rate: Money, length: timedelta) -> None:
    standing, now = disk(size, rate), BEGAN + length
    entries = storage_captures(HOME, UID, standing, now)
    assert accrued(standing.storage, now) == charged(entries)
    month = month_of(now)[0]
    assert accrued(standing.storage, now, month) == Tally().post(entries).charged({UID}, month)


@given(st.tuples(sizes, rates), st.tuples(sizes, rates), spans, spans)
def test_a_disk_that_grew_costs_what_its_two_stretches_cost(
    before: tuple[int, Money], after: tuple[int, Money], first: timedelta, second: timedelta
) -> None:
    (size, rate), (larger, other), grown = before, after, BEGAN + first
    entries = storage_captures(HOME, UID, disk(size, rate), grown)
    entries = (*entries, *storage_captures(HOME, UID, disk(larger, other, grown), grown + second))
    assert charged(entries) == by_months(size, rate, BEGAN, grown) + by_months(larger, other, grown, grown + second)
    assert len({entry.id for entry in entries}) == len(entries)


@given(sizes, st.integers(0, 5_000_000), spans)
def test_the_checker_s_own_arithmetic_agrees(size: int, micro: int, length: timedelta) -> None:
    assert storage_charge(length, size, Money(micro)).micro == own_storage(BEGAN, BEGAN + length, size, micro)


@given(sizes, spans)
def test_an_unknown_price_is_no_charge_and_a_price_of_nothing_neither(size: int, length: timedelta) -> None:
    for rate in (None, ZERO):
        standing = disk(size, rate)
        assert storage_captures(HOME, UID, standing, BEGAN + length) == ()
        assert standing.storage is not None and standing.storage.month_ends is None
        assert accrued(standing.storage, BEGAN + length) == total(()) == ZERO
