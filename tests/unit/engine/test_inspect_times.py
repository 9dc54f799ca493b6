"""When a Workspace starts and stops next, and what a command says about it at its end."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from support import situations as given
from support.situations import NOW

from nodusctl.attempts.attempt import Attempt
from nodusctl.engine.inspect_times import Times, times_of
from nodusctl.ports.journal import StoredObject
from nodusctl.render.times import next_words, times_text
from nodusctl.state.status import ObjectStatus, Phase, SessionStanding, WindowsStanding

HOUR = timedelta(hours=1)
OFFICE = {"nodus.dev/windows": "Mon-Fri 10:00-17:00 Europe/Madrid"}
"""Nine to sixteen UTC in March."""


def times(phase: Phase, attempt: Attempt | None = None, *, spec: dict[str, object] | None = None, **status: object) -> Times:
    """The times of ``lab`` with office hours, at Monday 09:00 UTC."""
    session = SessionStanding(began_at=NOW) if attempt is not None else None
    stands = ObjectStatus(phase=phase, attempt_uid=attempt.uid if attempt is not None else "", session=session)
    record = given.record(annotations=OFFICE, spec=spec or {})
    stored = StoredObject(record=record, status=replace(stands, **status), attempts=(attempt,) if attempt is not None else ())
    return times_of(stored, now=NOW)


def test_a_running_session_stops_at_the_end_of_its_window_or_at_its_edge_whichever_is_first() -> None:
    by_window = times(Phase.RUNNING, given.launched(ready=True))
    assert (by_window.stops_by, by_window.stops_because) == (NOW + 7 * HOUR, "its window or stopAt ends it")
    by_money = times(Phase.RUNNING, given.launched(ready=True, edge_at=NOW + HOUR, edge_bound="cap"))
    assert (by_money.stops_by, by_money.stops_because) == (NOW + HOUR, "its maxCostUSD ends it")
    assert by_money.armed_until == NOW + HOUR


def test_an_edge_read_back_a_moment_early_still_stands_for_its_window() -> None:
    found = times(Phase.RUNNING, given.launched(ready=True, edge_at=NOW + 7 * HOUR - timedelta(seconds=2), edge_bound="schedule"))
    assert found.stops_by == NOW + 7 * HOUR


def test_the_window_a_session_runs_in_is_not_its_next_start() -> None:
    assert times(Phase.RUNNING, given.launched(ready=True)).next_start == NOW + 23 * HOUR + 3 * HOUR / 4


def test_at_rest_the_next_start_is_ahead_of_the_window_by_its_lead() -> None:
    used = WindowsStanding(digest="", through=NOW)
    assert times(Phase.STOPPED, windows=used).next_start == NOW + 23 * HOUR + 3 * HOUR / 4
    assert times(Phase.STOPPED).stops_by is None


def test_a_parked_workspace_starts_nothing_next() -> None:
    found = times(Phase.STOPPED, spec={"state": "Stopped"})
    assert (found.next_start, found.is_parked) == (None, True)
    assert next_words("lab", found) == "lab is parked: its windows start nothing until:\n  nodusctl start lab"
    assert "Next openings:  none, Parked: spec.state is Stopped" in times_text(found)


def test_what_comes_next_is_said_in_the_zone_of_its_windows_and_in_utc() -> None:
    running, resting = (
        times(Phase.RUNNING, given.launched(ready=True)),
        times(Phase.STOPPED, windows=WindowsStanding(digest="", through=NOW)),
    )
    assert next_words("lab", running) == (
        "lab stops by Mon 2 Mar 17:00 Europe/Madrid (2026-03-02T16:00:00Z) at the latest: its window or stopAt ends it."
    )
    assert next_words("lab", resting) == (
        "The next window of lab opens Tue 3 Mar 10:00 Europe/Madrid (2026-03-03T09:00:00Z); its machine starts 15m before."
    )


def test_the_last_use_says_when_an_idle_stop_is_ahead_unless_that_has_passed() -> None:
    ahead = times(Phase.RUNNING, given.launched(ready=True), last_activity_at=NOW + HOUR / 2, last_activity="python train.py")
    text = times_text(ahead)
    assert "Last activity:  2026-03-02T09:30:00Z python train.py" in text
    assert "Idle stop:      after 1h without use: 2026-03-02T10:30:00Z, unless it is used before" in text
    ready_long_ago = given.launched(ready=True)
    ready_long_ago = replace(ready_long_ago, timings=replace(ready_long_ago.timings, ready_at=NOW - 2 * HOUR))
    assert "after 1h without use, as its machine judges" in times_text(times(Phase.RUNNING, ready_long_ago))


def test_what_was_passed_over_is_told_with_its_reason() -> None:
    skipped = WindowsStanding(digest="", through=NOW, skipped="2026-02-27T09:00:00Z", skip_reason="MissedWindow", skip_message="no pass")
    text = times_text(times(Phase.STOPPED, windows=skipped))
    assert "Passed over:    Fri 27 Feb 10:00 Europe/Madrid (2026-02-27T09:00:00Z), MissedWindow: no pass" in text
