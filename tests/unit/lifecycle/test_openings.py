"""Openings: when a Workspace is to run, worked out from the clock and from what is used, across nights in which clocks change."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from support import situations as given
from support.situations import NOW

from nodusctl.base.timestamps import format_time
from nodusctl.lifecycle.edges import session_end
from nodusctl.lifecycle.marks import write_mark
from nodusctl.lifecycle.opening import next_opening_step
from nodusctl.lifecycle.steps import Mark, MarkKind
from nodusctl.lifecycle.windows import is_open, stop_after, unused_until, upcoming, windows_digest, zone_of
from nodusctl.state.requests import EXTEND_REQUEST, extension_request
from nodusctl.state.status import Phase, SessionStanding, WindowsStanding

LEAD = timedelta(minutes=15)
HOUR = timedelta(hours=1)


def marks(windows: str) -> dict[str, str]:
    return {"nodus.dev/windows": windows}


def spans(windows: str, now: datetime, count: int = 3, lead: timedelta = LEAD) -> list[str]:
    """Start and end in UTC, as ``10-23T07:00/15:00``."""
    found = upcoming({}, marks(windows), lead, now, count=count)
    return [f"{format_time(one.start)[5:16]}/{format_time(one.end)[11:16]}" if one.end is not None else "" for one in found]


def test_weekday_windows_keep_their_local_hours_over_the_night_in_which_summer_time_ends() -> None:
    found = spans("Mon-Fri 09:00-17:00 Europe/Madrid", datetime(2026, 10, 23, 6, tzinfo=UTC))
    assert found == ["10-23T07:00/15:00", "10-26T08:00/16:00", "10-27T08:00/16:00"]


def test_weekday_windows_keep_their_local_hours_over_the_night_in_which_summer_time_begins() -> None:
    found = spans("Mon-Fri 09:00-17:00 Europe/Madrid", datetime(2027, 3, 26, 6, tzinfo=UTC))
    assert found == ["03-26T08:00/16:00", "03-29T07:00/15:00", "03-30T07:00/15:00"]


@pytest.mark.parametrize(
    ("windows", "span"),
    [
        ("Sun 02:30-04:00 Europe/Madrid", "10-25T00:30/03:00"),
        ("Sun 01:00-02:30 Europe/Madrid", "10-24T23:00/00:30"),
        ("Sat 23:00-06:00 Europe/Madrid", "10-24T21:00/05:00"),
    ],
)
def test_a_time_that_an_autumn_night_repeats_is_its_first(windows: str, span: str) -> None:
    assert spans(windows, datetime(2026, 10, 24, 12, tzinfo=UTC), count=1) == [span]


@pytest.mark.parametrize(
    ("windows", "span"),
    [
        ("Sun 02:30-04:00 Europe/Madrid", "03-28T01:30/02:00"),
        ("Sun 01:00-02:30 Europe/Madrid", "03-28T00:00/01:30"),
        ("Sat 23:00-06:00 Europe/Madrid", "03-27T22:00/04:00"),
    ],
)
def test_a_time_that_a_spring_night_skips_is_read_with_the_offset_before_it(windows: str, span: str) -> None:
    assert spans(windows, datetime(2027, 3, 27, 12, tzinfo=UTC), count=1) == [span]


@pytest.mark.parametrize("windows", ["Sun 02:30-03:30 Europe/Madrid", "Sun 02:45-03:15 Europe/Madrid"])
def test_a_window_that_a_spring_night_swallows_is_no_opening_but_is_told_to_be_recorded(windows: str) -> None:
    night = datetime(2027, 3, 28, 1, 20, tzinfo=UTC)
    assert spans(windows, night - HOUR, count=1)[0].startswith("04-04")
    assert not is_open({}, marks(windows), night, LEAD)
    standing = WindowsStanding(digest="", through=night - 12 * HOUR)
    (swallowed,) = unused_until({}, marks(windows), LEAD, night + HOUR, standing)
    assert not swallowed.is_real


@pytest.mark.parametrize("windows", ["Mon 22:00-06:00 UTC", "Mon 22:00-22:00 UTC"])
def test_an_end_at_or_before_the_start_is_on_the_next_day(windows: str) -> None:
    (one,) = upcoming({}, marks(windows), LEAD, NOW, count=1)
    assert one.end is not None
    assert one.end - one.start == (8 * HOUR if "06:00" in windows else 24 * HOUR)


def test_a_window_that_began_yesterday_is_open() -> None:
    assert is_open({}, marks("Sun 22:00-10:00 UTC"), NOW, LEAD)
    assert not is_open({}, marks("Sun 22:00-09:00 UTC"), NOW, LEAD), "its end is no part of it"


def test_windows_that_overlap_or_touch_are_listed_and_end_as_one() -> None:
    for windows in ("Mon 10:00-12:00 UTC; Mon 11:00-14:00 UTC", "Mon 10:00-12:00 UTC; Mon 12:00-14:00 UTC"):
        assert spans(windows, NOW, count=2) == ["03-02T10:00/14:00", "03-09T10:00/14:00"]
        assert stop_after({}, marks(windows), NOW) == NOW + 5 * HOUR


def test_what_is_used_is_not_listed() -> None:
    windows = "daily 10:00-12:00 UTC"
    standing = WindowsStanding(digest="", through=NOW - HOUR, used=("2026-03-02T10:00:00Z",))
    assert [one.id for one in upcoming({}, marks(windows), LEAD, NOW, standing=standing, count=1)] == ["2026-03-03T10:00:00Z"]
    assert [one.id for one in upcoming({}, marks(windows), LEAD, NOW, standing=replace(standing, through=NOW + 30 * HOUR), count=1)] == [
        "2026-03-04T10:00:00Z"
    ]


def test_the_zone_of_several_windows_is_that_of_the_first() -> None:
    assert zone_of(marks("Mon 10:00-12:00 Asia/Tokyo; Tue 10:00-12:00 UTC")) == "Asia/Tokyo"
    assert zone_of({}) == ""


def test_a_session_that_a_window_began_never_ends_with_the_window_before_it() -> None:
    record = given.record(annotations=marks("Mon 08:00-09:30 UTC; Mon 09:40-12:00 UTC"))
    assert session_end(record, SessionStanding(began_at=NOW + 26 * timedelta(minutes=1)), NOW) == NOW + HOUR / 2
    ahead = SessionStanding(began_at=NOW + 26 * timedelta(minutes=1), trigger="window", occurrence="2026-03-02T09:40:00Z")
    assert session_end(record, ahead, NOW) == NOW + 3 * HOUR


def test_an_extension_moves_the_end_of_the_session_it_was_asked_in_only() -> None:
    asked = extension_request(NOW + 9 * HOUR, NOW + HOUR)
    record = given.record(annotations={**marks("Mon 09:00-17:00 UTC"), EXTEND_REQUEST: asked})
    assert session_end(record, SessionStanding(began_at=NOW), NOW) == NOW + 9 * HOUR
    assert session_end(record, SessionStanding(began_at=NOW + 2 * HOUR), NOW) == NOW + 8 * HOUR


class TestAtRest:
    """What the clock makes of a Workspace that rests."""

    WINDOWS = "daily 10:00-12:00 UTC"

    def step(self, now: datetime, **changes: object) -> Mark | None:
        """The mark that is due then, with everything before this day used."""
        record = given.record(annotations=marks(self.WINDOWS), **changes)
        standing = WindowsStanding(digest=windows_digest(record.spec, record.annotations), through=NOW - 12 * HOUR)
        return next_opening_step(given.situation(Phase.STOPPED, record=record, status={"windows": standing}, now=now))

    def test_before_its_lead_nothing_is_due(self) -> None:
        assert self.step(NOW + HOUR - LEAD - timedelta(seconds=1)) is None

    @pytest.mark.parametrize("minutes", [45, 60, 75, 90])
    def test_from_its_lead_until_half_an_hour_late_it_begins(self, minutes: int) -> None:
        step = self.step(NOW + timedelta(minutes=minutes))
        assert step is not None and step.what is MarkKind.BEGIN_START

    def test_later_it_is_missed(self) -> None:
        step = self.step(NOW + timedelta(minutes=91))
        assert step is not None and (step.what, step.reason) == (MarkKind.SKIP_OPENING, "MissedWindow")

    def test_without_an_approval_it_is_passed_over(self) -> None:
        step = self.step(NOW + HOUR, approval=None)
        assert step is not None and (step.what, step.reason) == (MarkKind.SKIP_OPENING, "NoApproval")

    def test_parked_nothing_is_due(self) -> None:
        assert self.step(NOW + HOUR, spec={"state": "Stopped"}) is None

    def test_new_windows_count_from_now_on(self) -> None:
        record = given.record(annotations=marks("daily 08:50-12:00 UTC"))
        resting = given.situation(Phase.STOPPED, record=record)
        step = next_opening_step(resting)
        assert step is not None and step.what is MarkKind.SETTLE_WINDOWS
        settled = write_mark(resting, step).statuses[given.LAB_UID].windows
        assert settled is not None and settled.through == NOW
        following = next_opening_step(given.situation(Phase.STOPPED, record=record, status={"windows": settled}))
        assert following is None, "writing a window that is open starts nothing"
