"""Entries, balances and what fits."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nodusctl.base.money import ZERO, Money
from nodusctl.ledger.balances import balances, month_of, spent
from nodusctl.ledger.build import AttemptBalance, Subject, capture, correction, grant, hold, refund, release, renew, settle_attempt
from nodusctl.ledger.checks import budget_shortfall, credit_shortfall, remaining_of, unsound
from nodusctl.ledger.entries import AVAILABLE, Entry, EntryKind, Posting

OCTOBER = datetime(2026, 10, 31, 23, tzinfo=UTC)
NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)
LAB = Subject(object_address="workspace/lab", object_uid="uid-lab", attempt_uid="attempt-1")
OTHER = Subject(object_address="workspace/other", object_uid="uid-other", attempt_uid="attempt-2")


def usd(text: str) -> Money:
    return Money.parse(text)


def test_postings_that_do_not_sum_to_zero_make_no_entry() -> None:
    with pytest.raises(ValueError, match="sum to zero"):
        Entry(id="e", kind=EntryKind.GRANT, time=OCTOBER, postings=(Posting(AVAILABLE, usd("1")),))


def test_only_a_correction_points_at_another_entry_and_it_must() -> None:
    for kind, corrects in ((EntryKind.CORRECTION, None), (EntryKind.HOLD, "e1")):
        with pytest.raises(ValueError, match="correction"):
            Entry(id="e", kind=kind, time=OCTOBER, postings=(), corrects=corrects)


def test_a_session_holds_captures_and_gives_back_the_rest() -> None:
    entries = [
        hold("e1", OCTOBER, LAB, usd("8")),
        renew("e2", OCTOBER, LAB, usd("2")),
        capture("e3", OCTOBER, LAB, usd("3"), held_now=usd("10")),
    ]
    assert balances(entries).attempt("attempt-1") == AttemptBalance(held=usd("7"), charged=usd("3"))
    entries += settle_attempt(("e4", "e5"), NOVEMBER, LAB, total_charge=usd("4.25"), balance=balances(entries).attempt("attempt-1"))
    now = balances(entries)
    assert now.attempt("attempt-1") == AttemptBalance(charged=usd("4.25"))
    assert now.available == -usd("4.25")
    assert unsound(entries, ["attempt-1"]) == ()


def test_a_charge_above_its_hold_is_posted_whole() -> None:
    entries = [hold("e1", OCTOBER, LAB, usd("1")), capture("e2", OCTOBER, LAB, usd("1.5"), held_now=usd("1"))]
    assert balances(entries).attempt("attempt-1") == AttemptBalance(charged=usd("1.5"))
    assert unsound(entries, ["attempt-1"]) == ()


def test_nothing_allocated_is_charged_nothing_and_released_whole() -> None:
    entries = [hold("e1", OCTOBER, LAB, usd("1"))]
    entries += settle_attempt(("e2", "e3"), OCTOBER, LAB, total_charge=ZERO, balance=AttemptBalance(held=usd("1")))
    assert [entry.kind for entry in entries] == [EntryKind.HOLD, EntryKind.CAPTURE, EntryKind.RELEASE]
    assert balances(entries).whole == AttemptBalance()


def test_a_final_charge_below_what_was_captured_is_a_correction() -> None:
    entries = [hold("e1", OCTOBER, LAB, usd("2")), capture("e2", OCTOBER, LAB, usd("2"), held_now=usd("2"))]
    balance = balances(entries).attempt("attempt-1")
    with pytest.raises(ValueError, match="more was captured"):
        settle_attempt(("e3", "e4"), NOVEMBER, LAB, total_charge=usd("1.5"), balance=balance)
    entries += settle_attempt(("e3", "e4"), NOVEMBER, LAB, total_charge=usd("1.5"), balance=balance, last_capture_id="e2")
    assert balances(entries).attempt("attempt-1").charged == usd("1.5")
    assert unsound(entries, ["attempt-1"]) == ()


def test_balances_are_kept_per_attempt_per_object_and_per_scope() -> None:
    again = Subject(object_address="workspace/lab", object_uid="uid-lab", attempt_uid="attempt-3")
    entries = [hold("e1", OCTOBER, LAB, usd("1")), hold("e2", OCTOBER, again, usd("2")), hold("e3", OCTOBER, OTHER, usd("4"))]
    now = balances(entries)
    assert (now.object("uid-lab").held, now.among(["uid-lab", "uid-other"]).held, now.whole.held) == (usd("3"), usd("7"), usd("7"))
    assert now.object("nobody") == AttemptBalance()


def test_a_period_counts_the_charges_posted_in_it() -> None:
    entries = [
        hold("e1", OCTOBER, LAB, usd("9")),
        capture("e2", OCTOBER, LAB, usd("1"), held_now=usd("9")),
        capture("e3", NOVEMBER, LAB, usd("2"), held_now=usd("8")),
        correction("e4", NOVEMBER, LAB, -usd("0.5"), corrects="e2"),
        refund("e5", NOVEMBER, LAB, usd("0.25")),
    ]
    assert spent(entries, ["uid-lab"], *month_of(OCTOBER)) == usd("1")
    assert spent(entries, None, *month_of(NOVEMBER)) == usd("1.25")
    assert spent(entries, ["uid-other"]) == ZERO


def test_a_month_is_the_utc_month_across_the_years_end() -> None:
    assert month_of(datetime(2026, 12, 9, tzinfo=UTC)) == (datetime(2026, 12, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))


def test_a_hold_equal_to_what_remains_of_a_budget_fits_and_more_does_not() -> None:
    assert budget_shortfall(usd("4"), limit=usd("10"), spent=usd("5"), held=usd("1")) is None
    short = budget_shortfall(usd("4.000001"), limit=usd("10"), spent=usd("5"), held=usd("1"))
    assert short is not None
    assert short.remaining == usd("4")
    assert remaining_of(usd("1"), usd("2"), ZERO) == ZERO


def test_before_the_first_grant_nothing_is_checked_and_after_it_holds_must_fit() -> None:
    assert credit_shortfall(usd("100"), balances([hold("e1", OCTOBER, LAB, usd("1"))])) is None
    entries = [grant("e1", OCTOBER, usd("10")), hold("e2", OCTOBER, LAB, usd("8"))]
    assert credit_shortfall(usd("2"), balances(entries)) is None
    short = credit_shortfall(usd("3"), balances(entries))
    assert short is not None
    assert (short.remaining, short.held, short.limit) == (usd("2"), usd("8"), usd("10"))


def test_an_unsound_ledger_is_described() -> None:
    entries = [
        hold("e1", OCTOBER, LAB, usd("1")),
        release("e1", OCTOBER, LAB, usd("2")),
        correction("e3", OCTOBER, LAB, -usd("1"), corrects="nowhere"),
        hold("e4", OCTOBER, OTHER, usd("1")),
    ]
    assert unsound(entries, ["attempt-2"]) == (
        "Entry e1 is there twice.",
        "Entry e3 corrects nowhere, which is no earlier entry of its Attempt.",
        "Attempt attempt-1 holds -$1.00.",
        "Attempt attempt-1 was charged -$1.00.",
        "Attempt attempt-2 is settled and still holds $1.00.",
    )


@pytest.mark.parametrize("make", [hold, renew, release])
def test_amounts_held_or_released_are_never_negative(make: object) -> None:
    with pytest.raises(ValueError, match="never negative"):
        make("e1", OCTOBER, LAB, Money(-1))  # type: ignore[operator]
