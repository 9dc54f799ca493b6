"""lifecycle.md, "Idle", as the state learns of it: the machine judges alone, and what it wrote down is read afterwards."""

from __future__ import annotations

from datetime import timedelta

from support.world import HOME_YAML, START, World, workspace_yaml

from nodusctl.base.exits import ExitCode
from nodusctl.engine.inspect_times import times_of
from nodusctl.state.status import Phase

MINUTE = timedelta(minutes=1)


def unused(world: World, **spec: object) -> World:
    """A Workspace nobody uses, running since a moment after nine."""
    world.write(HOME_YAML, workspace_yaml(**spec))
    assert world.apply().exit_code is ExitCode.DONE
    return world


def test_with_nothing_of_ours_awake_the_machine_stops_itself_and_the_next_tick_settles_it(world: World) -> None:
    """Case 34: the laptop is shut for two hours, and nothing is owed for the second one."""
    unused(world)
    ready_at = world.attempt().timings.ready_at
    assert ready_at is not None
    world.pass_time(timedelta(hours=2))
    assert world.status().phase is Phase.RUNNING, "nobody has looked yet"
    world.tick(times=4, every=MINUTE)
    assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "Idle")
    ended = world.attempt().timings.finished_at
    assert ended is not None
    assert abs(ended - (ready_at + timedelta(hours=1))) < MINUTE, "by the machine's own time, not by when it was noticed"
    assert world.home().revision == 1
    assert world.status().last_session is not None and world.status().last_session.stop_reason == "Idle"
    world.check_quiet()


def test_an_idle_stop_leaves_what_the_owner_wants_and_ends_no_later_window(world: World) -> None:
    unused(world, annotations={"windows": "daily 09:00-17:00 UTC"})
    world.pass_time(timedelta(hours=2))
    world.tick(times=4, every=MINUTE)
    assert (world.status().stop_reason, world.standing().record.spec["state"]) == ("Idle", "Running")
    world.pass_time(timedelta(hours=1))
    world.tick(times=2, every=MINUTE)
    assert world.count("create") == 1, "the window that it ended in is used"
    world.pass_time(START + timedelta(days=1) - timedelta(minutes=10) - world.clock.now())
    world.tick(times=2, every=MINUTE)
    assert world.status().phase is Phase.RUNNING


def test_where_idle_is_never_the_machine_runs_to_its_edge(world: World) -> None:
    unused(world, idleTimeout="0s")
    world.pass_time(timedelta(hours=3))
    world.tick()
    assert world.status().phase is Phase.RUNNING


def test_the_idle_stop_that_is_ahead_is_said(world: World) -> None:
    unused(world)
    stored = world.state.journal.load(world.standing().record.uid)
    ready_at = world.attempt().timings.ready_at
    assert stored is not None and ready_at is not None
    times = times_of(stored, now=world.clock.now())
    assert times.idle_at is not None and times.idle_at >= ready_at + timedelta(hours=1)
