"""A save that fails keeps the live disk, says so, and never keeps a machine running; a half save never counts."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from support.world import HOME, HOME_YAML, LAB, START, World, workspace_yaml

from nodusctl.attempts.events import HomeNotSaved
from nodusctl.base.exits import ExitCode
from nodusctl.lifecycle.situation import Rules
from nodusctl.state.status import Phase


@pytest.fixture(autouse=True)
def running(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    assert world.apply().exit_code is ExitCode.DONE


def test_a_save_that_always_fails_ends_the_stop_with_the_live_disk_kept(world: World) -> None:
    world.fault("save", "error Unavailable message the store is down")
    disk_id = world.home().disk_id
    assert world.stop().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.STOPPED
    assert world.condition("StateSaved") == "False"
    assert "disk newer than revision 0" in world.events(HomeNotSaved)[0].reason  # type: ignore[attr-defined]
    assert (world.home().disk_id, world.home().revision, world.home().is_newer_than_revision) == (disk_id, 0, True)
    assert len(world.cloud.disk_content(disk_id)) == 1, "the live disk still holds the session"
    world.check_quiet()


def test_retries_of_a_save_cost_no_compute(world: World) -> None:
    world.fault("save", "error Unavailable")
    world.stop()
    attempt = world.attempt()
    saves = [call.time for call in world.cloud.calls("save")]
    assert len(saves) == 3
    assert attempt.timings.finished_at is not None and attempt.timings.finished_at <= saves[0]
    assert world.machines() == ()


def test_after_a_failed_save_the_next_start_goes_on_from_the_live_disk(world: World) -> None:
    world.fault("save", "error Unavailable", times=3)
    world.stop()
    disk_id = world.home().disk_id
    assert world.start().exit_code is ExitCode.DONE
    assert world.stop().exit_code is ExitCode.DONE
    assert (world.home().disk_id, world.home().revision, world.home().is_newer_than_revision) == (disk_id, 1, False)
    assert len(world.cloud.disk_content(disk_id)) == 2
    assert world.condition("StateSaved") == "True"
    world.check_quiet()


def test_a_save_that_fails_in_each_tick_is_given_up_after_its_bound_and_the_next_window_opens(world: World) -> None:
    """A pass remembers no try of an earlier one: without a bound in time the stop would never be over, and no window would open again."""
    world.write(HOME_YAML, workspace_yaml(idleTimeout="0s", annotations={"windows": "daily 10:00-11:00 UTC; daily 12:00-13:00 UTC"}))
    world.apply()
    world.fault("save", "error Unavailable message the store is down")
    world.tick_until(START + timedelta(hours=2, minutes=40))
    assert (world.status().phase, len(world.attempts())) == (Phase.STOPPED, 1)
    assert world.condition("StateSaved") == "False"
    assert "the store is down" in world.events(HomeNotSaved)[-1].reason  # type: ignore[attr-defined]
    assert world.count("save") >= 3
    world.heal()
    world.tick_until(START + timedelta(hours=5))
    assert len(world.attempts()) == 2, "the next window opened"
    assert world.condition("StateSaved") == "True" and not world.home().is_newer_than_revision
    world.check_quiet()


def test_a_half_save_never_becomes_a_revision_and_is_taken_up_again(world: World) -> None:
    world.fault("save", "partial 40", nth=1)
    assert world.stop().exit_code is ExitCode.DONE
    assert [(one.number, bool(one.digest)) for one in world.home().revisions] == [(1, True)]
    assert world.condition("StateSaved") == "True"
    world.check_quiet()


def test_a_save_that_never_ends_well_is_given_up_and_the_next_stop_saves_under_the_same_number(world: World) -> None:
    world.fault("save", "partial 40", times=3)
    world.stop()
    assert world.home().revisions == ()
    world.start()
    world.stop()
    assert [one.number for one in world.home().revisions] == [1]
    world.check_quiet()


def test_a_host_that_dies_under_a_session_loses_nothing_of_a_disk_that_outlives_it(world: World) -> None:
    world.cloud.kill(world.machines()[0].id)
    assert world.stop().exit_code is ExitCode.DONE
    assert world.home().revision == 1
    assert len(world.cloud.disk_content(world.home().disk_id)) == 1
    world.check_quiet()


def test_a_home_on_the_machines_own_disk_is_saved_before_the_release(tmp_path: Path) -> None:
    world = World(tmp_path / "own", world="manners: {diskOutlivesMachine: false}\n")
    world.write(HOME_YAML, workspace_yaml())
    world.apply()
    assert world.stop().exit_code is ExitCode.DONE
    operations = [call.operation for call in world.cloud.calls()]
    assert operations.index("save") < operations.index("delete")
    assert world.home().revision == 1
    world.check_quiet()


def test_a_save_before_the_release_holds_the_machine_no_longer_than_its_bound(tmp_path: Path) -> None:
    rules = Rules(save_bound=timedelta(minutes=2))
    world = World(tmp_path / "own", world="manners: {diskOutlivesMachine: false}\ntimes: {save: 3h}\n", rules=rules)
    world.write(HOME_YAML, workspace_yaml())
    world.apply()
    assert world.stop(timeout=timedelta(hours=1)).exit_code is ExitCode.DONE
    attempt = world.attempt()
    assert attempt.timings.finished_at is not None and attempt.timings.stop_asked_at is not None
    assert attempt.timings.finished_at - attempt.timings.stop_asked_at < timedelta(minutes=3)
    assert world.condition("StateSaved") == "False"
    assert world.machines() == ()
    world.check_quiet()


def test_deleting_everything_removes_disk_and_revisions(world: World) -> None:
    world.stop()
    assert world.delete(LAB, HOME).exit_code is ExitCode.DONE
    assert world.count("volume-delete") == 1
    assert world.state.journal.snapshot().standings == {}
