"""Hold before the call, one capture at the end, the rest released: a random life of Attempts always sums to zero."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given as hypothesis_given
from hypothesis import strategies as st
from support import situations as given
from support.situations import NOW

from nodusctl.base.money import ZERO, Money
from nodusctl.ledger.balances import balances
from nodusctl.ledger.checks import unsound
from nodusctl.ledger.entries import Entry, EntryKind
from nodusctl.lifecycle.money import charge_of, final_entries, hold_for_launch, hold_returned

HOLD = Money.parse("1.603333")


def test_a_hold_is_posted_under_its_try() -> None:
    (entry,) = hold_for_launch(given.attempt(), 2, HOLD, NOW)
    assert (entry.kind, entry.id) == (EntryKind.HOLD, "uid-attempt/hold/2")


def test_free_capacity_needs_no_hold() -> None:
    assert hold_for_launch(given.attempt(), 1, ZERO, NOW) == ()
    assert hold_returned(given.attempt(), (), NOW, "") == ()


def test_nothing_allocated_gives_the_whole_hold_back() -> None:
    entries = hold_for_launch(given.attempt(), 1, HOLD, NOW)
    back = hold_returned(given.attempt(try_number=1), entries, NOW, "nothing was allocated")
    now = balances((*entries, *back))
    assert (now.whole.held, now.whole.charged, now.available) == (ZERO, ZERO, ZERO)


def test_an_attempt_without_a_machine_costs_nothing() -> None:
    assert charge_of(given.attempt(), NOW + timedelta(hours=5)) == ZERO


def test_the_end_captures_the_charge_and_releases_the_rest() -> None:
    made = given.launched(ready=True)
    entries = hold_for_launch(made, 1, HOLD, NOW)
    last = final_entries(made, entries, NOW + timedelta(hours=1), NOW + timedelta(hours=2))
    assert [entry.kind for entry in last] == [EntryKind.CAPTURE, EntryKind.RELEASE]
    now = balances((*entries, *last)).attempt(made.uid)
    assert (now.charged, now.held) == (Money.parse("0.20"), ZERO)


def test_a_charge_above_its_hold_is_captured_whole() -> None:
    made = given.launched(ready=True)
    entries = hold_for_launch(made, 1, Money.parse("0.10"), NOW)
    last = final_entries(made, entries, NOW + timedelta(hours=1), NOW)
    now = balances((*entries, *last))
    assert (now.attempt(made.uid).charged, now.attempt(made.uid).held) == (Money.parse("0.20"), ZERO)
    assert now.available == -Money.parse("0.20")


@hypothesis_given(
    tries=st.lists(st.integers(0, 5_000_000), max_size=5),
    ran_seconds=st.integers(0, 200_000),
    others=st.lists(st.integers(0, 3_000_000), max_size=4),
)
def test_after_any_life_the_ledger_is_sound_and_sums_to_zero(tries: list[int], ran_seconds: int, others: list[int]) -> None:
    """Refused tries, then a machine; among the entries of other Attempts."""
    entries: list[Entry] = []
    for number, amount in enumerate(others):
        entries += hold_for_launch(given.attempt(uid=f"other-{number}"), 1, Money(amount), NOW)
    made = given.attempt()
    for number, amount in enumerate(tries, start=1):
        made = replace(made, try_number=number)
        entries += hold_for_launch(made, number, Money(amount), NOW)
        entries += hold_returned(made, entries, NOW, "refused")
    running = given.launched(ready=True, try_number=len(tries) + 1)
    entries += hold_for_launch(running, running.try_number, HOLD, NOW)
    ended_at = NOW + timedelta(seconds=ran_seconds)
    entries += final_entries(running, entries, ended_at, ended_at)
    assert unsound(entries, [running.uid]) == ()
    assert sum(posting.amount.micro for entry in entries for posting in entry.postings) == 0
    assert balances(entries).attempt(running.uid).charged == charge_of(running, ended_at)
