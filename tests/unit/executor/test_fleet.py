"""The objects of one run: found in their order, woken once, and for no more than what is found."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from support.effort import lines_of

from nodusctl.base.copies import replace
from nodusctl.base.ids import Address
from nodusctl.executor.fleet import Fleet
from nodusctl.executor.runs import Standing

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


def fleet(count: int = 4) -> Fleet:
    return Fleet((f"u{number}", Address("workspace", f"w{number}")) for number in range(count))


def put(among: Fleet, uid: str, standing: Standing, *, after: float = 0.0) -> None:
    among.put(replace(among[uid], standing=standing, wake_at=NOON + timedelta(seconds=after)))


def waiting(count: int) -> Fleet:
    """The last one is due at NOON, all others an hour later."""
    among = fleet(count)
    for number in range(count):
        put(among, f"u{number}", Standing.WAITING, after=0 if number == count - 1 else 3600)
    return among


def uids(among: Fleet, standing: Standing) -> list[str]:
    return [run.uid for run in among.standing(standing)]


def test_objects_keep_the_order_they_were_given_in() -> None:
    among = fleet()
    for uid in ("u2", "u0", "u3"):
        put(among, uid, Standing.CALLING)
    assert uids(among, Standing.CALLING) == ["u0", "u2", "u3"]
    put(among, "u2", Standing.READY)
    assert uids(among, Standing.READY) == [run.uid for run in among.ready()] == ["u1", "u2"]


def test_what_becomes_ready_meanwhile_comes_in_its_turn_and_nothing_comes_twice() -> None:
    among, taken = fleet(), []
    put(among, "u0", Standing.PARKED)
    put(among, "u3", Standing.PARKED)
    for run in among.ready():
        taken.append(run.uid)
        put(among, "u0", Standing.READY)
        put(among, "u3", Standing.READY)
        put(among, "u2", Standing.OVER)
    assert taken == ["u1", "u3"]
    assert uids(among, Standing.READY) == ["u0", "u1", "u3"], "who isn't carried on stays ready, for the next pass"


def test_those_whose_wait_is_over_come_in_order_and_once() -> None:
    among = fleet()
    for uid, after in (("u3", 1), ("u1", 2), ("u0", 3)):
        put(among, uid, Standing.WAITING, after=after)
    assert among.first_wake == NOON + timedelta(seconds=1)
    assert [run.uid for run in among.due(NOON + timedelta(seconds=2))] == ["u1", "u3"]
    put(among, "u1", Standing.READY)
    put(among, "u3", Standing.READY)
    assert among.due(NOON + timedelta(seconds=2)) == ()
    assert among.first_wake == NOON + timedelta(seconds=3)


def test_a_wait_that_was_given_up_or_moved_wakes_nobody() -> None:
    among = fleet()
    put(among, "u0", Standing.WAITING, after=1)
    put(among, "u1", Standing.WAITING, after=2)
    put(among, "u0", Standing.READY)
    put(among, "u1", Standing.WAITING, after=5)
    assert among.first_wake == NOON + timedelta(seconds=5)
    assert among.due(NOON + timedelta(seconds=4)) == ()
    put(among, "u1", Standing.OVER)
    assert among.first_wake is None


def test_one_that_waits_twice_for_the_same_moment_is_woken_once() -> None:
    among = fleet()
    for standing in (Standing.WAITING, Standing.READY, Standing.WAITING):
        put(among, "u0", standing, after=1)
    assert [run.uid for run in among.due(NOON + timedelta(seconds=1))] == ["u0"]


def test_taking_the_first_that_is_ready_costs_the_same_among_many() -> None:
    few, many = fleet(10), fleet(1000)
    assert lines_of(lambda: next(iter(many.ready()))) == lines_of(lambda: next(iter(few.ready())))


def test_waking_one_costs_the_same_while_many_wait() -> None:
    few, many = waiting(10), waiting(1000)
    assert lines_of(lambda: many.due(NOON)) == lines_of(lambda: few.due(NOON))
