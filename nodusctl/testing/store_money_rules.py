"""Rules of a store about money: what a limit has left, and that check and hold are one transaction."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.ledger import build
from nodusctl.ledger.room import CREDITS, HoldGuard
from nodusctl.ports.journal import Claim, Closing, HoldRefused, Opening
from nodusctl.testing.store_hooks import NOON, StoreHooks, StoreUnderTest, a_capture, a_consumption, a_hold, an_intent, an_opening

_HOLD = Money(4_400_000)


def a_guard(limit: str = "10.00", *objects: str, since: datetime | None = None) -> HoldGuard:
    """A Budget of ``limit`` over these objects; over everything where none is named."""
    return HoldGuard(name="budget/team", limit=Money.parse(limit), objects=frozenset(objects) or None, since=since)


class MoneyRules(StoreHooks):
    """See the module."""

    def test_a_hold_that_fits_its_limit_is_posted(self, store: StoreUnderTest) -> None:
        """A hold equal to what is left fits."""
        store.found()
        store.journal.open(replace(an_opening(store.claim()), guards=(a_guard("4.40"),)))
        assert store.journal.entries() == (a_hold(),)
        assert store.journal.room([a_guard("4.40")]) == (Money(0),)

    def test_a_hold_above_its_limit_writes_nothing(self, store: StoreUnderTest) -> None:
        """HoldRefused names the limit, what was needed and what was left; intent, Attempt and hold are not there."""
        store.found()
        with pytest.raises(HoldRefused) as refused:
            store.journal.open(replace(an_opening(store.claim()), guards=(a_guard("100"), a_guard("4.399999"))))
        short = refused.value.shortage
        assert (short.guard.name, short.needed, short.remaining) == ("budget/team", _HOLD, Money.parse("4.399999"))
        assert (store.journal.entries(), store.journal.open_intents(), store.journal.attempts()) == ((), (), ())

    def test_a_limit_counts_what_its_objects_hold_and_have_cost(self, store: StoreUnderTest) -> None:
        """Other objects don't count for it; removed ones count where it names none."""
        store.found("lab", "other")
        store.journal.open(an_opening(store.claim()))
        store.journal.close(Closing(claim=store.claims.preempt("uid-lab", "t", timedelta(minutes=1)), entries=(a_capture(),)))
        both, lab, other = a_guard("10"), a_guard("10", "uid-lab"), a_guard("10", "uid-other")
        left = Money.parse("5.60")
        assert store.journal.room([both, lab, other]) == (left, left, Money.parse("10"))

    def test_a_limit_of_a_month_counts_that_month_and_all_holds(self, store: StoreUnderTest) -> None:
        """A charge dated in an earlier month is left out, whenever it was posted."""
        store.found()
        september = replace(a_capture(), time=datetime(2026, 9, 30, 23, 59, 59, 999999, tzinfo=UTC))
        store.journal.open(an_opening(store.claim()))
        store.journal.close(Closing(claim=store.claims.preempt("uid-lab", "t", timedelta(minutes=1)), entries=(september, a_capture(2))))
        held, charged_in_october = _HOLD - Money(2_000_002), Money(1_000_001)
        guard = a_guard("10", since=datetime(2026, 10, 1, tzinfo=UTC))
        assert store.journal.room([guard]) == (Money.parse("10") - held - charged_in_october,)

    def test_nothing_granted_limits_nothing(self, store: StoreUnderTest) -> None:
        """Post-paid: the balance counts from the first grant on, and a hold must fit it then."""
        store.found()
        assert store.journal.room([CREDITS]) == (None,)
        store.journal.open(replace(an_opening(store.claim()), guards=(CREDITS,)))
        grant = build.grant("grant-1", NOON, Money.parse("5.00"), "for March")
        store.journal.consume(replace(a_consumption(number=2, serial=1), records=(), entries=(grant,)))
        assert store.journal.room([CREDITS]) == (Money.parse("0.60"),)
        again = store.claims.preempt("uid-lab", "t", timedelta(minutes=1))
        with pytest.raises(HoldRefused, match=r"credits: 4\.40 needed, 0\.60 left"):
            store.journal.open(replace(an_opening(again, number=2), guards=(CREDITS,)))

    def test_one_commit_posts_what_fits_and_gives_the_rest_back(self, store: StoreUnderTest) -> None:
        """Two launches in one commit, room for one: the second's claim is given back and told, so that it can be decided again."""
        store.found("lab", "other")
        first, second = store.claim(), store.claim("uid-other")
        guard = a_guard("5.00")
        changes = (_guarded(first, 1, guard), _guarded(second, 2, guard), second)
        assert store.journal.commit(changes) == frozenset({second})
        assert [entry.object_uid for entry in store.journal.entries()] == ["uid-lab"]
        assert store.claims.claim("uid-other", "launch", timedelta(minutes=2)) is not None, "nobody holds it now"

    def test_of_holds_that_race_for_the_last_dollars_one_wins(self, store: StoreUnderTest) -> None:
        """Eight at once, room for one: one is posted, seven are refused."""
        names = [f"w{number}" for number in range(8)]
        store.found(*names)
        openings = [_guarded(store.claim(f"uid-{name}"), number, a_guard("5.00")) for number, name in enumerate(names, start=1)]

        def post(opening: Opening) -> bool:
            try:
                store.journal.open(opening)
            except HoldRefused:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sorted(pool.map(post, openings)) == [False] * 7 + [True]
        assert len(store.journal.entries()) == 1

    def test_what_lowers_a_limits_use_always_fits(self, store: StoreUnderTest) -> None:
        """A capture moves money from held to charged; it is posted however far the limit is passed."""
        store.found()
        claim = store.claim()
        store.journal.open(an_opening(claim))
        store.journal.open(Opening(claim=claim, intent=an_intent(2), entries=(a_capture(),), guards=(a_guard("1.00"),)))
        assert store.journal.room([a_guard("1.00")]) == (Money(1_000_000 - 4_400_000),)

    def test_records_of_one_kind_come_alone(self, store: StoreUnderTest) -> None:
        """Sorted by address, nothing else read."""
        store.found("b", "a")
        assert [record.address for record in store.journal.records("workspace")] == [Address("workspace", "a"), Address("workspace", "b")]
        assert store.journal.records("budget") == ()


def _guarded(claim: Claim, number: int, guard: HoldGuard) -> Opening:
    return replace(an_opening(claim, number), guards=(guard,))
