"""The edge of a running machine moves when less than half of the lease is left, or when what bounds it has moved (lifecycle.md)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support import situations as given
from support.situations import NOW, situation

from nodusctl.base.money import Money
from nodusctl.ledger import build
from nodusctl.ledger.entries import Entry
from nodusctl.lifecycle.next_step import next_step
from nodusctl.lifecycle.renewing import next_renewal
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import Mark, MarkKind, Renew
from nodusctl.state.requests import EXTEND_REQUEST, extension_request
from nodusctl.state.status import Phase, SessionStanding

HOUR = timedelta(hours=1)
SUBJECT = build.Subject(object_address="workspace/lab", object_uid=given.LAB_UID, attempt_uid=given.ATTEMPT_UID)


def running(
    after: timedelta, *, spec: dict[str, Any] | None = None, annotations: dict[str, str] | None = None, **attempt: Any
) -> Situation:
    """A Workspace that runs since NOW, ``after`` later; its edge is at 8 h unless told otherwise."""
    made = given.launched(ready=True, **{"edge_bound": "lease", "edge_armed_at": NOW, "idle_seconds": 3600, **attempt})
    now = NOW + after
    session = SessionStanding(began_at=NOW, ready_at=NOW)
    seen = given.sightings(looked_at=now)
    record = given.record(spec=spec or {}, annotations=annotations or {})
    return situation(Phase.RUNNING, made, now=now, record=record, sightings=seen, status={"session": session})


def renewal(made: Situation) -> Renew | None:
    found = next_renewal(made)
    assert found is None or isinstance(found, Renew)
    return found


def test_nothing_is_due_in_the_first_half_of_the_lease() -> None:
    assert renewal(running(4 * HOUR)) is None


def test_in_the_second_half_the_edge_moves_to_a_whole_lease_from_now() -> None:
    found = renewal(running(4 * HOUR + timedelta(minutes=1)))
    assert found is not None and found.until == NOW + 12 * HOUR + timedelta(minutes=1)
    assert found.bound == "lease"


def test_it_never_moves_past_stop_at() -> None:
    found = renewal(running(5 * HOUR, spec={"schedule": {"stopAt": "2026-03-02T18:30:00Z"}}))
    assert found is not None and (found.until, found.bound) == (NOW + timedelta(hours=9, minutes=30), "schedule")


def test_an_edge_that_is_stop_at_is_not_renewed() -> None:
    spec = {"schedule": {"stopAt": "2026-03-02T15:00:00Z"}}
    assert renewal(running(5 * HOUR, spec=spec, edge_at=NOW + 6 * HOUR, edge_bound="schedule")) is None


def test_it_never_moves_past_what_the_cap_pays_for() -> None:
    found = renewal(running(5 * HOUR, spec={"maxCostUSD": "2.00"}))
    assert found is not None and (found.until, found.bound) == (NOW + timedelta(hours=9, minutes=59), "cap"), "10 h less the stop bound"


def test_a_raised_cap_moves_an_edge_that_stood_for_the_old_one() -> None:
    found = renewal(running(HOUR, spec={"maxCostUSD": "1.00"}, edge_at=NOW + 2 * HOUR, edge_bound="cap"))
    assert found is not None and found.bound == "cap"
    assert found.until == NOW + timedelta(hours=4, minutes=59)


def test_a_nearer_stop_at_is_told_at_once() -> None:
    found = renewal(running(HOUR, spec={"schedule": {"stopAt": "2026-03-02T12:00:00Z"}}))
    assert found is not None and (found.until, found.bound) == (NOW + 3 * HOUR, "schedule")


def test_a_budget_with_room_for_an_hour_gives_an_hour() -> None:
    made = replace(
        running(5 * HOUR), budget_left_usd=Money.parse("0.20"), entries=(build.hold("h", NOW, SUBJECT, Money.parse("1.603333")),)
    )
    found = renewal(made)
    assert found is not None and found.bound == "budget"
    assert found.until == NOW + 9 * HOUR, "the hold for 8 h and its stop bound, and an hour more"


def test_an_extension_moves_the_end_of_the_session_it_was_made_in() -> None:
    spec = {"schedule": {"stopAt": "2026-03-02T12:00:00Z"}}
    asked = {EXTEND_REQUEST: extension_request(NOW + 5 * HOUR, NOW + 2 * HOUR)}
    found = renewal(running(2 * HOUR, spec=spec, annotations=asked, edge_at=NOW + 3 * HOUR, edge_bound="schedule"))
    assert found is not None and found.until == NOW + 5 * HOUR
    yesterdays = {EXTEND_REQUEST: extension_request(NOW + 5 * HOUR, NOW - HOUR)}
    assert renewal(running(2 * HOUR, spec=spec, annotations=yesterdays, edge_at=NOW + 3 * HOUR, edge_bound="schedule")) is None


def test_another_idle_timeout_is_told_without_moving_the_edge_back() -> None:
    found = renewal(running(HOUR, spec={"idleTimeout": "2h"}))
    assert found is not None and found.because == "its idleTimeout changed"


@pytest.mark.parametrize(
    ("captured", "is_due"),
    [((), True), ((build.capture("c", NOW + 2 * HOUR, SUBJECT, Money.parse("0.1"), held_now=Money.parse("1")),), False)],
)
def test_a_month_that_ended_since_the_last_capture_is_a_renewal(captured: tuple[Entry, ...], is_due: bool) -> None:
    made = running(2 * HOUR)
    timings = replace(made.attempt.timings, billing_started_at=NOW.replace(month=2, day=28, hour=23)) if made.attempt else None
    assert made.attempt is not None and timings is not None
    month_end = replace(made, attempt=replace(made.attempt, timings=timings), entries=captured)
    found = renewal(month_end)
    assert (found is not None) is is_due
    assert found is None or found.until == made.attempt.edge_at, "the edge stays where it is"


def test_a_stop_beats_a_renewal() -> None:
    made = running(5 * HOUR, spec={"schedule": {"stopAt": "2026-03-02T13:00:00Z"}})
    step = next_step(made)
    assert isinstance(step, Mark) and (step.what, step.reason) == (MarkKind.BEGIN_STOP, "Schedule")


def test_several_stops_at_once_are_told_in_the_order_of_the_table() -> None:
    """Money, then stopAt, then the lease."""
    at_once = {"schedule": {"stopAt": "2026-03-02T13:00:00Z"}, "maxCostUSD": "0.50"}
    made = running(9 * HOUR, spec=at_once)
    step = next_step(made)
    assert isinstance(step, Mark) and step.reason == "MaxCostReached"
    without_cap = next_step(running(9 * HOUR, spec={"schedule": at_once["schedule"]}))
    assert isinstance(without_cap, Mark) and without_cap.reason == "Schedule"
    plain = next_step(running(9 * HOUR))
    assert isinstance(plain, Mark) and plain.reason == "LeaseEnded"
