"""Captures over month ends are exact whoever looks when; the sums limits are reckoned from are those of the ledger."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from support import situations

from nodusctl.attempts.attempt import Attempt, Timings
from nodusctl.base.money import Money, total
from nodusctl.ledger import build
from nodusctl.ledger.balances import balances, month_of, spent
from nodusctl.ledger.entries import Entry, EntryKind, charged
from nodusctl.ledger.room import HoldGuard, Tally, room_under, shortage
from nodusctl.lifecycle.money import captures_until, charge_of, final_entries, renewal_entries
from nodusctl.pricing.charge import at_rate, elapsed_seconds

BEGAN = datetime(2026, 1, 31, 21, 17, 3, 250_000, tzinfo=UTC)
spans = st.integers(1, 70 * 24 * 3600 * 1000).map(lambda milli: timedelta(milliseconds=milli))


def attempt(rate: Money) -> Attempt:
    terms = situations.terms(rate=str(rate))
    return situations.launched(ready=True, terms=terms, timings=Timings(queued_at=BEGAN, acquired_at=BEGAN, billing_started_at=BEGAN))


@given(st.integers(1, 50_000_000).map(Money), spans, st.lists(spans, max_size=5))
def test_each_month_is_captured_to_the_last_microsecond_and_the_sum_is_the_receipt(
    rate: Money, length: timedelta, looks: list[timedelta]
) -> None:
    made, ended_at = attempt(rate), BEGAN + length
    entries: tuple[Entry, ...] = (build.hold("h", BEGAN, _subject(made), charge_of(made, ended_at)),)
    for look in sorted(one for one in looks if one < length):
        entries = (*entries, *renewal_entries(made, entries, Money(0), BEGAN + look))
    entries = (*entries, *final_entries(made, entries, ended_at, ended_at + timedelta(seconds=5)))
    assert _captured(made, entries) == charge_of(made, ended_at)
    boundary = month_of(BEGAN)[1]
    while boundary <= ended_at:
        before = [one for one in entries if one.time < boundary]
        assert _captured(made, before) == at_rate(elapsed_seconds(boundary - BEGAN), rate)
        boundary = month_of(boundary)[1]


@given(st.integers(1, 50_000_000).map(Money), spans)
def test_capturing_twice_at_one_moment_captures_nothing_more(rate: Money, length: timedelta) -> None:
    made, now = attempt(rate), BEGAN + length
    once = captures_until(made, (), now, now)
    assert captures_until(made, once, now, now) == ()


movements = st.lists(
    st.tuples(
        st.sampled_from(["hold", "capture", "release"]),
        st.sampled_from(["a", "b", "c"]),
        st.integers(1, 10**7).map(Money),
        st.integers(0, 120),
    ),
    max_size=30,
)


@given(movements, st.booleans())
def test_a_tally_counts_what_the_ledger_says(moves: list[tuple[str, str, Money, int]], is_granted: bool) -> None:
    entries: list[Entry] = [build.grant("g", BEGAN, Money.parse("50"))] if is_granted else []
    for number, (what, name, amount, days) in enumerate(moves):
        held_now = balances(entries).attempt(f"attempt-{name}").held
        subject = build.Subject(object_address=f"workspace/{name}", object_uid=f"uid-{name}", attempt_uid=f"attempt-{name}")
        entries.append(_made(what, f"e{number}", BEGAN + timedelta(days=days), subject, amount=amount, held_now=held_now))
    tally, known = Tally().post(entries), balances(entries)
    since = datetime(2026, 3, 1, tzinfo=UTC)
    for objects in (None, frozenset({"uid-a"}), frozenset({"uid-b", "uid-c"})):
        held = known.whole.held if objects is None else known.among(objects).held
        assert (tally.held(objects), tally.charged(objects, since)) == (held, spent(entries, objects, since))
    assert (tally.available, tally.has_grant) == (known.available, known.has_grant)


@given(movements, st.integers(0, 10**8).map(Money))
def test_holds_that_are_posted_only_where_they_fit_never_pass_a_limit(moves: list[tuple[str, str, Money, int]], limit: Money) -> None:
    guard, entries = HoldGuard(name="b", limit=limit), list[Entry]()
    for number, (_, name, amount, _days) in enumerate(moves):
        subject = build.Subject(object_address=f"workspace/{name}", object_uid=f"uid-{name}", attempt_uid=f"attempt-{name}")
        hold = build.hold(f"e{number}", BEGAN, subject, amount)
        if shortage([guard], [hold], Tally().post(entries)) is None:
            entries.append(hold)
    room = room_under(guard, Tally().post(entries))
    assert room is not None and room >= Money(0)


def _made(what: str, name: str, time: datetime, subject: build.Subject, *, amount: Money, held_now: Money) -> Entry:
    if what == "hold":
        return build.hold(name, time, subject, amount)
    if what == "capture":
        return build.capture(name, time, subject, amount, held_now=held_now)
    return build.release(name, time, subject, min(amount, held_now))


def _captured(made: Attempt, entries: tuple[Entry, ...] | list[Entry]) -> Money:
    kinds = {EntryKind.CAPTURE, EntryKind.CORRECTION}
    return total(one.moved(charged(made.uid)) for one in entries if one.kind in kinds)


def _subject(made: Attempt) -> build.Subject:
    return build.Subject(object_address=str(made.owner), object_uid=made.owner_uid, attempt_uid=made.uid)
