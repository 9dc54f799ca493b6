"""NoTicker: said when something needs a tick that doesn't come, and at no other time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.world import HOME_YAML, World, workspace_yaml

from nodusctl.base.diagnostics import Diagnostic, Severity
from nodusctl.engine.cron_record import TickerRecord, forget_ticker, read_ticker, write_ticker
from nodusctl.engine.ticker_watch import Watch, no_ticker
from nodusctl.ports.passes import PassNote

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
NOON = {"windows": "daily 12:00-17:00 UTC"}


def made(world: World, **spec: Any) -> World:
    world.write(HOME_YAML, workspace_yaml(**spec))
    world.apply()
    return world


def noted(world: World, *failures: str) -> None:
    now = world.clock.now()
    world.state.passes.note(PassNote(id=str(now), started_at=now, ended_at=now, host="test", failures=failures))


def warned(world: World, ticker: TickerRecord | None = None, *, is_simulated: bool = False) -> Diagnostic | None:
    watch = Watch(now=world.clock.now(), lead=world.rules.window_lead, ticker=ticker, is_simulated=is_simulated)
    return no_ticker(watch, world.state.journal, world.state.passes)


def installed(world: World, every: timedelta = 5 * MINUTE) -> TickerRecord:
    return TickerRecord(kind="crontab", every=every, installed_at=world.clock.now(), host="test")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "project")


def test_a_stopped_workspace_needs_nobody(world: World) -> None:
    made(world, state="Stopped")
    world.pass_time(24 * HOUR)
    assert warned(world) is None


def test_a_workspace_with_a_window_ahead_is_warned_of_at_once(world: World) -> None:
    found = warned(made(world, annotations=NOON))
    assert found is not None
    assert (found.code, found.severity) == ("NoTicker", Severity.WARNING)
    assert "2026-03-02 12:00 UTC" in found.detail
    assert "nodusctl cron install" in found.fix


def test_parked_windows_need_nobody(world: World) -> None:
    assert warned(made(world, state="Stopped", annotations=NOON)) is None


def test_a_running_workspace_is_warned_of_after_three_intervals(world: World) -> None:
    made(world, idleTimeout="0s")
    world.pass_time(14 * MINUTE)
    assert warned(world) is None
    world.pass_time(2 * MINUTE)
    assert warned(world) is not None


def test_a_good_pass_within_three_intervals_is_enough(world: World) -> None:
    made(world, annotations=NOON)
    noted(world)
    world.pass_time(15 * MINUTE)
    assert warned(world) is None
    world.pass_time(MINUTE)
    found = warned(world)
    assert found is not None
    assert "16m ago" in found.detail


def test_the_interval_is_the_one_that_was_installed(world: World) -> None:
    made(world, annotations=NOON)
    noted(world)
    world.pass_time(16 * MINUTE)
    assert warned(world, installed(world, 20 * MINUTE)) is None
    assert warned(world, installed(world, MINUTE)) is not None


def test_passes_that_fail_are_not_good_and_their_failures_are_told(world: World) -> None:
    made(world, annotations=NOON)
    noted(world)
    for _ in range(4):
        world.pass_time(5 * MINUTE)
        noted(world, "sim: Unauthorized no such account")
    found = warned(world, installed(world))
    assert found is not None
    assert "Unauthorized no such account" in found.detail
    assert "nodusctl cron show" in found.fix


def test_a_ticker_that_was_just_installed_has_three_intervals_for_its_first_pass(world: World) -> None:
    made(world, annotations=NOON)
    ticker = installed(world)
    assert warned(world, ticker) is None
    world.pass_time(16 * MINUTE)
    assert warned(world, ticker) is not None


def test_a_stop_that_nobody_carries_on_is_warned_of_at_once(world: World) -> None:
    made(world)
    world.fault("delete", "error Unavailable")
    world.stop(timeout=timedelta(seconds=1))
    found = warned(world)
    assert found is not None
    assert "its machine may cost money" in found.detail


def test_in_a_simulated_world_it_is_a_note_that_says_how_time_goes_on(world: World) -> None:
    found = warned(made(world, annotations=NOON), is_simulated=True)
    assert found is not None
    assert (found.severity, "sim advance 1h --tick 5m" in found.fix) == (Severity.NOTE, True)


def test_many_objects_are_counted_not_listed(world: World) -> None:
    world.write(*(workspace_yaml(f"w{number}", volume="", ephemeral=True, annotations=NOON) for number in range(5)))
    world.apply()
    found = warned(world)
    assert found is not None
    assert "and 2 more" in found.detail


def test_what_was_installed_is_remembered_beside_the_state(tmp_path: Path) -> None:
    world = World(tmp_path / "project")
    record = replace(installed(world), every=20 * MINUTE)
    folder = tmp_path / "project" / ".nodus"
    write_ticker(folder, record)
    assert read_ticker(folder) == record
    (folder / "ticker.json").write_text("{")
    assert read_ticker(folder) is None
    forget_ticker(folder)
    forget_ticker(folder)
    assert not (folder / "ticker.json").exists()
