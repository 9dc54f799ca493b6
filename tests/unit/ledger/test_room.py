"""What is left under a limit, and which holds fit it."""

from __future__ import annotations

from datetime import UTC, datetime

from support.effort import lines_of

from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.ledger import build
from nodusctl.ledger.budgets import budget_rule
from nodusctl.ledger.room import CREDITS, HoldGuard, Tally, room_under, shortage

MARCH, APRIL = datetime(2026, 3, 31, 23, 59, 59, 999999, tzinfo=UTC), datetime(2026, 4, 1, 0, 0, tzinfo=UTC)
LAB = build.Subject(object_address="workspace/lab", object_uid="uid-lab", attempt_uid="a1")
WEB = build.Subject(object_address="workspace/web", object_uid="uid-web", attempt_uid="a2")
USD = Money.parse
TEN = HoldGuard(name="budget/team", limit=USD("10"))


def posted() -> Tally:
    """lab holds 4 of 5 and was charged 1 in March; web holds 2."""
    held = build.hold("h1", MARCH, LAB, USD("5"))
    charged = build.capture("c1", MARCH, LAB, USD("1"), held_now=USD("5"))
    return Tally().post((held, charged, build.hold("h2", APRIL, WEB, USD("2"))))


def test_room_is_the_limit_less_holds_and_charges() -> None:
    assert room_under(TEN, posted()) == USD("3")


def test_room_counts_only_the_objects_a_limit_names() -> None:
    assert room_under(HoldGuard(name="b", limit=USD("10"), objects=frozenset({"uid-web"})), posted()) == USD("8")
    assert room_under(HoldGuard(name="b", limit=USD("10"), objects=frozenset()), posted()) == USD("10")


def test_room_of_a_month_leaves_out_what_was_charged_before_it_and_keeps_every_hold() -> None:
    assert room_under(HoldGuard(name="b", limit=USD("10"), since=APRIL), posted()) == USD("4")


def test_room_below_zero_is_said_as_it_is() -> None:
    assert room_under(HoldGuard(name="b", limit=USD("1")), posted()) == -USD("6")


def test_the_balance_limits_nothing_before_the_first_grant() -> None:
    assert room_under(CREDITS, posted()) is None
    assert room_under(CREDITS, posted(), Tally().post((build.grant("g", APRIL, USD("20")),))) == USD("13")


def test_a_hold_that_equals_the_room_fits_and_a_micro_dollar_more_does_not() -> None:
    assert shortage([TEN], [build.hold("h3", APRIL, LAB, USD("3"))], posted()) is None
    short = shortage([TEN], [build.hold("h3", APRIL, LAB, USD("3.000001"))], posted())
    assert short is not None and (short.needed, short.remaining, short.guard.name) == (USD("3.000001"), USD("3"), "budget/team")


def test_a_shortage_never_says_that_less_than_nothing_is_left() -> None:
    short = shortage([HoldGuard(name="b", limit=USD("1"))], [build.hold("h3", APRIL, LAB, USD("1"))], posted())
    assert short is not None and short.remaining == Money(0)


def test_entries_that_lower_what_counts_fit_however_far_a_limit_is_passed() -> None:
    capture = build.capture("c2", MARCH, LAB, USD("2"), held_now=USD("4"))
    assert shortage([HoldGuard(name="b", limit=USD("0.01"), since=APRIL)], [capture], posted()) is None


def test_a_copy_goes_its_own_way() -> None:
    first = posted()
    second = first.copy().post((build.hold("h4", APRIL, WEB, USD("1")),))
    assert (first.held(None), second.held(None)) == (USD("6"), USD("7"))


def test_a_budget_of_another_project_binds_nothing() -> None:
    rule = budget_rule(Address("budget", "b"), {"limitUSD": "1.00", "scope": {"project": "other"}})
    assert rule.guard("lab", {"uid-lab": {}}, APRIL, {}).objects == frozenset()
    assert not rule.covers("lab", {})


def test_a_budget_with_a_selector_binds_the_objects_it_selects_in_this_month() -> None:
    scope = {"selector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["ml"]}]}}
    rule = budget_rule(Address("budget", "b"), {"limitUSD": "1.00", "scope": scope, "thresholds": [90, 10]})
    guard = rule.guard("lab", {"uid-lab": {"team": "ml"}, "uid-web": {"team": "web"}}, MARCH, {})
    assert (guard.objects, guard.since) == (frozenset({"uid-lab"}), datetime(2026, 3, 1, tzinfo=UTC))
    assert rule.thresholds == (10, 90)


def test_a_total_budget_counts_from_the_beginning() -> None:
    assert budget_rule(Address("budget", "b"), {"limitUSD": "1.00", "period": "Total"}).guard("lab", {}, MARCH, {}).since is None


def test_what_a_limit_leaves_follows_every_entry_however_often_it_was_asked() -> None:
    guard = HoldGuard(name="b", limit=USD("10"), objects=frozenset({"uid-lab"}), since=APRIL)
    tally = posted()
    assert room_under(guard, tally) == USD("6")
    tally.post((build.hold("h3", APRIL, LAB, USD("2")), build.hold("h4", APRIL, WEB, USD("1"))))
    assert room_under(guard, tally) == USD("4")
    tally.post((build.capture("c3", APRIL, LAB, USD("3"), held_now=USD("6")),))
    assert room_under(guard, tally) == USD("4"), "what was held is charged now, in a month that wasn't there when it was asked first"
    assert room_under(guard, tally.copy().post((build.hold("h5", APRIL, LAB, USD("1")),))) == USD("3")
    assert room_under(guard, tally) == USD("4")


def test_a_limit_that_names_other_objects_by_now_is_summed_anew() -> None:
    tally = posted()
    lab, web = (HoldGuard(name="b", limit=USD("10"), objects=frozenset({uid})) for uid in ("uid-lab", "uid-web"))
    assert [room_under(guard, tally) for guard in (lab, web, lab)] == [USD("5"), USD("8"), USD("5")]


def _asked_again(count: int) -> tuple[HoldGuard, Tally]:
    """A limit over so many objects that all hold something, asked once."""
    subjects = [build.Subject(object_address=f"workspace/w{n}", object_uid=f"uid-{n}", attempt_uid=f"a{n}") for n in range(count)]
    tally = Tally().post(build.hold(f"h{n}", APRIL, subject, USD("1")) for n, subject in enumerate(subjects))
    guard = HoldGuard(name="b", limit=USD("5000"), objects=frozenset(subject.object_uid for subject in subjects))
    assert room_under(guard, tally, Tally()) == USD("5000") - Money.parse(str(count))
    return guard, tally


def test_asking_again_costs_the_same_however_many_objects_a_limit_names() -> None:
    (few, among_few), (many, among_many) = _asked_again(10), _asked_again(1000)
    entry = build.hold("new", APRIL, build.Subject(object_address="workspace/w0", object_uid="uid-0", attempt_uid="a0"), USD("1"))
    assert lines_of(lambda: among_many.post([entry]).used(many)) == lines_of(lambda: among_few.post([entry]).used(few))
    assert lines_of(lambda: Tally().post([entry]).used(many)) == lines_of(lambda: Tally().post([entry]).used(few))
