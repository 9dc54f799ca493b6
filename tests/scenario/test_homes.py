"""Revisions of a home: one is brought back when somebody agreed to what that replaces, the oldest go when there are too many."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from support.world import HOME, HOME_YAML, LAB, World, outcome, workspace_yaml

from nodusctl.attempts.events import HomeRestored, RevisionDropped
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.engine.applying import ApplyResult
from nodusctl.plan.actions import Verb
from nodusctl.plan.changes import ChangeClass
from nodusctl.plan.hashing import plan_hash
from nodusctl.plan.plan import Plan
from nodusctl.state.status import Phase

SMALL = "apiVersion: nodus.dev/v1\nkind: Volume\nmetadata: {name: home}\nspec: {size: 1Gi, revisionHistoryLimit: 3}\n"


def saved(world: World, times: int, home: str = HOME_YAML) -> World:
    """A stopped Workspace whose home was saved so many times."""
    world.write(home, workspace_yaml())
    assert world.apply().exit_code is ExitCode.DONE
    for number in range(times):
        assert (world.start() if number else world.stop()).exit_code is ExitCode.DONE
        if number:
            assert world.stop().exit_code is ExitCode.DONE
    return world


def restore(world: World, number: int) -> ApplyResult:
    return world.apply(world.home_plan(restores=number))


def content(world: World) -> tuple[str, ...]:
    return world.cloud.disk_content(world.home().disk_id)


def numbers(world: World) -> list[int]:
    return [one.number for one in world.home().revisions]


def test_a_restored_home_is_what_the_revision_holds_and_the_next_stop_saves_one_more(world: World) -> None:
    saved(world, 3)
    assert len(content(world)) == 3
    assert restore(world, 1).exit_code is ExitCode.DONE
    assert len(content(world)) == 1
    assert (numbers(world), world.home().disk_revision, world.home().is_newer_than_revision) == ([1, 2, 3], 1, False)
    assert world.condition("Restored", HOME) == "True"
    assert [event.number for event in world.events(HomeRestored)] == [1]  # type: ignore[attr-defined]
    world.start()
    assert (world.home().disk_revision, world.home().is_newer_than_revision) == (1, True)
    world.stop()
    assert (numbers(world), world.home().disk_revision, len(content(world))) == ([1, 2, 3, 4], 4, 2)
    world.check_quiet()


def test_a_plan_after_a_restore_is_empty_and_restoring_it_again_changes_nothing(world: World) -> None:
    saved(world, 2)
    restore(world, 1)
    assert world.plan().actions == ()
    assert world.home_plan(restores=1).actions == ()
    assert restore(world, 2).exit_code is ExitCode.DONE
    assert (len(content(world)), world.home().disk_revision) == (2, 2)
    assert restore(world, 1).exit_code is ExitCode.DONE
    assert (len(content(world)), world.count("restore")) == (1, 3)


def test_a_restore_over_a_saved_disk_loses_nothing_and_one_over_a_newer_disk_says_what_is_lost(world: World) -> None:
    saved(world, 2)
    (safe,) = world.home_plan(restores=1).actions
    assert (safe.verb, safe.change_class, safe.facts.disk) == (Verb.RESTORE, ChangeClass.FREE, "2")
    world.start()
    world.fault("save", "error Unavailable message the store is down")
    world.stop()
    (lossy,) = world.home_plan(restores=1).actions
    assert (lossy.change_class, lossy.facts.disk) == (ChangeClass.DESTROYS, "2+")
    assert any("since revision 2 was never saved and is lost" in note for note in lossy.notes)


def test_the_revision_is_part_of_what_a_reviewer_approves(world: World) -> None:
    saved(world, 2)
    made = world.home_plan(restores=1)
    other = replace(made, actions=(replace(made.actions[0], restores_revision=2),))
    assert plan_hash(made) != plan_hash(other)
    assert plan_hash(made) == plan_hash(world.home_plan(restores=1))


def test_a_running_session_blocks_a_restore_with_the_command_that_ends_it(world: World) -> None:
    saved(world, 1)
    world.start()
    made = world.home_plan(restores=1)
    assert [(reason.code, "nodusctl stop lab" in reason.fix) for reason in made.reasons] == [("VolumeBusy", True)]
    assert world.apply(made).exit_code is ExitCode.BLOCKED
    assert world.count("restore") == 0


def test_a_revision_that_is_not_there_blocks_and_names_those_that_are(world: World) -> None:
    saved(world, 2)
    (reason,) = world.home_plan(restores=7).reasons
    assert (reason.code, reason.message) == ("NotFound", "volume/home has no revision 7; it has 1, 2.")


def test_a_reviewed_restore_is_refused_once_the_disk_was_used_again(world: World) -> None:
    saved(world, 2)
    made = world.home_plan(restores=1)
    world.start()
    world.stop()
    with pytest.raises(UserError) as refusal:
        world.apply(made, is_saved_plan=True)
    assert refusal.value.exit_code is ExitCode.REFUSED
    assert world.count("restore") == 0


def test_a_restore_whose_reply_is_lost_is_settled_by_asking_again(world: World) -> None:
    saved(world, 2)
    world.fault("restore", "accept-then-drop", times=1)
    assert restore(world, 1).exit_code is ExitCode.DONE
    assert (len(content(world)), world.home().disk_revision) == (1, 1)
    world.check_quiet()


def test_a_half_restore_is_finished_before_the_next_start(world: World) -> None:
    saved(world, 2)
    world.fault("restore", "partial 50")
    assert restore(world, 1).exit_code is not ExitCode.DONE
    world.heal()
    assert world.again().start().exit_code is ExitCode.DONE
    assert (world.home().restored_revision, len(content(world))) == (1, 2)
    launched = [call.operation for call in world.cloud.calls()]
    assert launched.index("create", launched.index("restore")) > launched.index("restore")
    world.check_quiet()


def test_a_start_never_runs_over_a_restore_that_cannot_be_made_now(world: World) -> None:
    saved(world, 2)
    world.fault("restore", "error Unavailable")
    assert outcome(restore(world, 1), HOME).is_ok is False
    creates = world.count("create")
    result = world.start(timeout=timedelta(minutes=5))
    assert outcome(result).code == "VolumeBusy"
    assert world.count("create") == creates
    world.heal()
    assert world.apply().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.RUNNING
    assert len(content(world)) == 2, "revision 1, and the session that went on from it"


def test_a_restore_the_platform_refuses_for_good_is_told_and_no_longer_asked_for(world: World) -> None:
    saved(world, 2)
    world.fault("restore", "error Conflict message the revision can't be trusted", times=1)
    result = restore(world, 1)
    assert (result.exit_code, outcome(result, HOME).code) == (ExitCode.ERROR, "Conflict")
    assert world.condition("Restored", HOME) == "False"
    assert len(content(world)) == 2
    assert world.start().exit_code is ExitCode.DONE


def test_an_ephemeral_workspace_has_no_revisions_to_restore(world: World) -> None:
    world.write(workspace_yaml(volume="", ephemeral=True))
    world.apply()
    with pytest.raises(UserError, match="no home"):
        world.home_plan(restores=1)


def test_the_oldest_revisions_go_with_the_save_that_made_them_too_many(world: World) -> None:
    saved(world, 5, SMALL)
    assert numbers(world) == [3, 4, 5]
    assert [event.number for event in world.events(RevisionDropped)] == [1, 2]  # type: ignore[attr-defined]
    disk = next(one for one in _disks(world) if one.id == world.home().disk_id)
    assert [revision.number for revision in disk.revisions] == [3, 4, 5]
    world.check_quiet()


def test_a_revision_that_cannot_be_dropped_stands_in_no_stops_way_and_goes_with_the_next(world: World) -> None:
    saved(world, 3, SMALL)
    world.start()
    world.fault("revision-delete", "error Unavailable")
    assert world.stop().exit_code is ExitCode.DONE
    assert numbers(world) == [1, 2, 3, 4]
    world.heal()
    world.start()
    world.fault("revision-delete", "accept-then-drop")
    assert world.stop().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.STOPPED
    world.heal()
    world.start()
    assert world.stop().exit_code is ExitCode.DONE
    assert numbers(world) == [4, 5, 6]
    world.check_quiet()


def test_pruning_by_hand_is_a_plan_that_names_what_goes(world: World) -> None:
    saved(world, 4)
    made = world.home_plan(keeps=2)
    (action,) = made.actions
    assert (action.verb, action.change_class, action.keeps_revisions) == (Verb.PRUNE, ChangeClass.DESTROYS, 2)
    assert any("drops revisions 1, 2;" in note for note in action.notes)
    assert world.apply(made).exit_code is ExitCode.DONE
    assert numbers(world) == [3, 4]
    assert world.plan().actions == ()
    assert world.home_plan(keeps=2).actions == ()
    world.check_quiet()


def test_the_latest_revision_is_never_pruned(world: World) -> None:
    saved(world, 2, SMALL)
    world.apply(world.home_plan(keeps=1))
    assert numbers(world) == [2]
    assert world.home_plan(keeps=1).actions == ()


def test_a_wish_to_prune_is_met_once_and_later_saves_follow_the_limit_again(world: World) -> None:
    saved(world, 3)
    world.apply(world.home_plan(keeps=1))
    for _ in range(2):
        world.start()
        world.stop()
    assert numbers(world) == [3, 4, 5]


def test_a_lower_limit_in_the_file_destroys_data_and_says_which_revisions(world: World) -> None:
    saved(world, 4)
    world.write(HOME_YAML.replace("{size: 1Gi}", "{size: 1Gi, revisionHistoryLimit: 1}"), workspace_yaml())
    made: Plan = world.plan()
    (change,) = next(one for one in made.actions if one.address == HOME).changes
    assert (change.change_class, change.note) == (ChangeClass.DESTROYS, "drops revisions 1, 2, 3")
    assert world.apply(made).exit_code is ExitCode.DONE
    assert numbers(world) == [4]


@pytest.mark.parametrize("is_running", [True, False])
def test_a_larger_size_grows_the_disk_in_place_and_a_smaller_one_is_refused(world: World, is_running: bool) -> None:
    saved(world, 1)
    if is_running:
        world.start()
    world.write(HOME_YAML.replace("1Gi", "3Gi"), workspace_yaml())
    assert world.apply().exit_code is ExitCode.DONE
    assert (world.home().size_bytes, world.count("grow"), len(world.machines())) == (3 * 2**30, 1, int(is_running))
    assert world.plan().actions == ()
    world.write(HOME_YAML, workspace_yaml())
    assert [reason.code for reason in world.plan().reasons] == ["Invalid"]
    world.check_books()


def test_a_renamed_workspace_and_a_renamed_home_keep_every_revision(world: World) -> None:
    saved(world, 2)
    disk_id = world.home().disk_id
    moved_home = HOME_YAML.replace("{name: home}", '{name: house, annotations: {"nodus.dev/moved-from": home}}')
    moved_lab = workspace_yaml("lab2", volume="house", annotations={"moved-from": "lab"})
    world.write(moved_home, moved_lab)
    assert world.apply().exit_code is ExitCode.DONE
    house = world.home(replace(HOME, name="house"))
    assert (house.disk_id, [one.number for one in house.revisions]) == (disk_id, [1, 2])
    assert world.apply(world.home_plan(replace(LAB, name="lab2"), restores=1)).exit_code is ExitCode.DONE
    assert world.count("volume-delete") == 0


def test_a_home_whose_yaml_went_is_kept_or_goes_as_its_policy_says(tmp_path: Path) -> None:
    for policy, left in (("Retain", 1), ("Delete", 0)):
        world = World(tmp_path / policy)
        saved(world, 1, HOME_YAML.replace("{size: 1Gi}", f"{{size: 1Gi, deletionPolicy: {policy}}}"))
        world.write(workspace_yaml("other", volume="", ephemeral=True, state="Stopped"))
        assert world.apply().exit_code is ExitCode.DONE
        assert len(_disks(world)) == left


def _disks(world: World) -> tuple:  # type: ignore[type-arg]
    listed = world.cloud.list()
    return listed.value.disks  # type: ignore[union-attr]
