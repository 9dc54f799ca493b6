"""Whose turn it is in a pass, from the few facts of a Brief: what may end first, what begins last, what rests not at all."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from support.situations import NOW

from nodusctl.base.ids import Address
from nodusctl.base.timestamps import format_time
from nodusctl.lifecycle.passing import ALIVE, Brief, Turn, turn_of
from nodusctl.lifecycle.windows import WINDOWS, windows_digest
from nodusctl.state.requests import REFRESH_REQUEST, RESTART_REQUEST, RESTORE_REQUEST, START_REQUEST, STOP_REQUEST
from nodusctl.state.status import Phase, WindowsStanding

LEAD = timedelta(minutes=15)
HOUR = timedelta(hours=1)
LAB = Brief(uid="u1", address=Address("workspace", "lab"), phase=Phase.STOPPED)
HOME = Brief(uid="u2", address=Address("volume", "home"), phase=Phase.READY)


def turn(brief: Brief) -> Turn | None:
    return turn_of(brief, NOW, LEAD)


def timed(ready_in: timedelta, **changes: object) -> Brief:
    """At rest until an opening that starts so far from now, and settled about it an hour ago."""
    spec = {"schedule": {"readyBy": format_time(NOW + ready_in), "stopAt": format_time(NOW + ready_in + 8 * HOUR)}, "state": "Running"}
    settled = WindowsStanding(digest=windows_digest(spec, {}), through=NOW - HOUR)
    return replace(LAB, spec=spec, windows=settled, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("phase", list(Phase))
def test_what_may_be_outside_goes_on_and_what_waits_for_a_place_begins(phase: Phase) -> None:
    expected = Turn.GOES_ON if phase in ALIVE else Turn.BEGINS if phase is Phase.PENDING else None
    assert turn(replace(LAB, phase=phase)) is expected


def test_an_object_at_rest_that_nobody_asks_anything_of_has_no_turn() -> None:
    assert turn(LAB) is None
    assert turn(replace(LAB, phase=Phase.FAILED)) is None
    assert turn(HOME) is None


@pytest.mark.parametrize("request_", [START_REQUEST, STOP_REQUEST, RESTART_REQUEST])
def test_a_request_begins_until_it_was_acted_on(request_: str) -> None:
    action = {START_REQUEST: "start", STOP_REQUEST: "stop", RESTART_REQUEST: "restart"}[request_]
    asked = replace(LAB, annotations={request_: "2026-10-26T07:00:00Z"})
    assert turn(asked) is Turn.BEGINS
    assert turn(replace(asked, handled_requests={action: "2026-10-25T07:00:00Z"})) is Turn.BEGINS
    assert turn(replace(asked, handled_requests={action: "2026-10-26T07:00:00Z"})) is None


def test_other_annotations_of_an_object_at_rest_ask_for_nothing() -> None:
    assert turn(replace(LAB, annotations={REFRESH_REQUEST: "x", RESTORE_REQUEST: "x", "team": "vision"})) is None


def test_a_start_that_was_put_off_begins() -> None:
    assert turn(replace(LAB, start_is_asked=True)) is Turn.BEGINS


def test_a_volume_goes_on_while_a_restore_is_asked_for() -> None:
    asked = replace(HOME, annotations={RESTORE_REQUEST: "1 over 2@x"})
    assert turn(asked) is Turn.GOES_ON
    assert turn(replace(asked, handled_requests={"restore": "1 over 2@x"})) is None


@pytest.mark.parametrize("kind", ["workspace", "volume", "secret", "budget"])
def test_what_is_to_go_goes_on_whatever_it_is(kind: str) -> None:
    assert turn(replace(LAB, address=Address(kind, "lab"), is_going=True)) is Turn.GOES_ON


def test_an_open_intent_is_settled_where_steps_are_taken() -> None:
    assert turn(replace(LAB, has_open_intent=True)) is Turn.GOES_ON
    assert turn(replace(HOME, has_open_intent=True)) is Turn.GOES_ON
    assert turn(replace(LAB, address=Address("secret", "key"), has_open_intent=True)) is None


class TestOpenings:
    def test_one_far_away_is_no_turn_and_one_within_its_lead_is(self) -> None:
        assert turn(timed(timedelta(days=365))) is None
        assert turn(timed(timedelta(minutes=16))) is None
        assert turn(timed(timedelta(minutes=15))) is Turn.BEGINS

    def test_one_that_is_used_is_no_turn(self) -> None:
        due = timed(timedelta(minutes=5))
        assert due.windows is not None
        used = replace(due.windows, used=((NOW + timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ"),))
        assert turn(replace(due, windows=used)) is None
        assert turn(replace(due, windows=replace(due.windows, through=NOW + timedelta(minutes=5)))) is None

    def test_nothing_begins_while_the_spec_says_stopped(self) -> None:
        spec = {**timed(timedelta(minutes=5)).spec, "state": "Stopped"}
        settled = WindowsStanding(digest=windows_digest(spec, {}), through=NOW - HOUR)
        assert turn(replace(LAB, spec=spec, windows=settled)) is None

    def test_windows_that_are_new_or_changed_are_settled_however_far_they_are(self) -> None:
        far = timed(timedelta(days=365))
        assert turn(replace(far, windows=None)) is Turn.BEGINS
        assert turn(replace(far, annotations={WINDOWS: "daily 09:00-10:00 UTC"})) is Turn.BEGINS

    def test_a_lost_schedule_asks_for_nothing(self) -> None:
        assert turn(replace(timed(timedelta(minutes=5)), spec={})) is None
