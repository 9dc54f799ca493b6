"""``cost --estimates``: what each launch predicted against what came, and when a p90 may be called honest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from support.history import LEASE, START, Past, books_of, cost, session, terms_of

from nodusctl.attempts import events as facts
from nodusctl.base.ids import Address
from nodusctl.base.money import Money, total
from nodusctl.engine.estimates import Comparison, Share, compare_estimates
from nodusctl.engine.spending import Period
from nodusctl.ledger.entries import charged
from nodusctl.render.estimates import estimates_text
from nodusctl.render.style import PLAIN
from nodusctl.state.snapshot import Snapshot

TERMS = terms_of(increment_seconds=1)


def sessions(count: int, **spans: timedelta) -> list[Past]:
    """Sessions of one object, one after the other."""
    return [session(number * 50, terms=TERMS, queued_at=START + timedelta(days=number), **spans) for number in range(count)]


def compared(*pasts: Past, period: Period | None = None, only: Address | None = None) -> tuple[Comparison, ...]:
    return compare_estimates(books_of(*pasts), Snapshot(), only=only, period=period or Period())


def until_edge(stops: timedelta) -> list[Past]:
    """Eight sessions that ran into their edge and took ``stops`` to end: launch, 2 s to billing, 40 s of boot, then until the edge."""
    boots = timedelta(seconds=40)
    return sessions(8, boots=boots, runs=LEASE - boots - timedelta(seconds=2), stops=stops)


def test_sessions_that_end_within_their_stop_bound_make_an_honest_p90() -> None:
    [one] = compared(*until_edge(timedelta(seconds=30)))
    assert (one.name, one.cost, one.cost.verdict) == ("workspace/ws-000", Share(within=8, count=8), "honest")
    assert one.p50_usd == cost(TERMS, LEASE + TERMS.stop_bound / 2) * 8
    assert one.p90_usd == cost(TERMS, LEASE + TERMS.stop_bound) * 8
    assert one.actual_usd == total(entry.moved(charged(past.uid)) for past in until_edge(timedelta(seconds=30)) for entry in past.entries)


def test_sessions_that_end_later_than_the_provider_promised_make_it_too_low() -> None:
    [one] = compared(*until_edge(timedelta(seconds=70)))
    assert (one.cost.within, one.cost.verdict) == (0, "too low")


def test_starts_are_judged_apart_from_costs() -> None:
    [one] = compared(*sessions(8, boots=timedelta(seconds=61)))
    assert (one.cost.verdict, one.starts, one.starts.verdict) == ("honest", Share(within=0, count=8), "too low")
    assert one.actual_start is not None
    assert one.actual_start.p90 == timedelta(seconds=61)
    assert one.start is not None
    assert one.start.p90 == timedelta(seconds=60)


@pytest.mark.parametrize(
    ("within", "count", "verdict"),
    [(0, 0, "nothing to compare"), (7, 7, "too few to say"), (8, 8, "honest"), (9, 10, "honest"), (8, 9, "too low"), (89, 100, "too low")],
)
def test_honest_is_nine_of_ten_and_under_eight_nobody_can_say(within: int, count: int, verdict: str) -> None:
    assert Share(within=within, count=count).verdict == verdict


def test_a_session_whose_edge_was_moved_had_predicted_another_one() -> None:
    past = session(terms=TERMS)
    later = facts.EdgeArmed(time=past.events[7].time, until=START + LEASE * 2, object_uid="uid-0", attempt_uid=past.uid)
    moved = Past(events=(*past.events[:8], later, *past.events[8:]), entries=past.entries)
    [one] = compared(moved)
    assert (one.cost.count, one.left_out, one.starts.count) == (0, 1, 1)


def test_a_session_of_two_machines_is_compared_once_with_what_both_cost() -> None:
    first = session(0, terms=TERMS)
    second = session(50, terms=TERMS, replaces=first.uid)
    [one] = compared(first, second)
    both = total(entry.moved(charged(past.uid)) for past in (first, second) for entry in past.entries)
    assert (one.cost.count, one.actual_usd, one.starts.count) == (1, both, 2)


def test_what_still_runs_is_not_compared() -> None:
    past = session()
    assert compared(Past(events=past.events[:8], entries=past.entries[:1])) == ()
    assert estimates_text((), PLAIN) == "No session has finished yet, so there is nothing to compare."


def test_a_period_takes_sessions_that_ended_in_it_and_an_object_takes_its_own() -> None:
    pasts = [*sessions(3), session(1)]
    second_day = Period(since=datetime(2024, 1, 2, tzinfo=UTC), until=datetime(2024, 1, 3, tzinfo=UTC))
    assert [one.cost.count for one in compared(*pasts, period=second_day)] == [1]
    assert [one.name for one in compared(*pasts, only=Address("workspace", "ws-001"))] == ["workspace/ws-001"]


def test_an_estimate_nothing_comes_near_is_said_to_be_wide() -> None:
    text = estimates_text(compared(*sessions(8, runs=timedelta(minutes=5))), PLAIN)
    assert "honest, but wide" in text
    assert Money(0).shown not in text
