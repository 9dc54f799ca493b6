"""Two Workspaces on one Volume: one writes, the other waits, and the disk is never on two machines."""

from __future__ import annotations

from datetime import timedelta

from support.world import HOME, HOME_YAML, World, outcome, workspace_yaml

from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.state.status import Phase

A, B = Address("workspace", "a"), Address("workspace", "b")


def both(world: World) -> tuple[Address, Address]:
    """Apply two Workspaces on one home; the one that runs, then the one that doesn't."""
    world.write(HOME_YAML, workspace_yaml("a", state="Stopped"), workspace_yaml("b", state="Stopped"))
    world.apply()
    world.start(A)
    return A, B


def test_the_second_is_busy_while_the_first_holds_the_disk(world: World) -> None:
    holder, other = both(world)
    result = world.start(other)
    assert outcome(result, other).code == "VolumeBusy"
    assert world.status(other).phase is Phase.PENDING
    assert world.home().holder is not None and world.home().holder.address == holder
    assert world.count("create") == 1
    world.check_quiet()


def test_the_second_starts_once_the_first_has_given_the_disk_back(world: World) -> None:
    holder, other = both(world)
    world.start(other)
    assert world.stop(holder).exit_code is ExitCode.DONE
    assert world.start(other).exit_code is ExitCode.DONE
    assert world.status(other).phase is Phase.RUNNING
    assert world.home().holder is not None and world.home().holder.address == other
    assert len(world.cloud.disk_content(world.home().disk_id)) == 2, "one after the other on one disk"
    world.check_quiet()


def test_removing_the_one_that_waits_takes_nothing_from_the_one_that_holds(world: World) -> None:
    holder, other = both(world)
    world.start(other)
    assert world.delete(other).exit_code is ExitCode.DONE
    assert world.home().holder is not None and world.home().holder.address == holder
    assert world.status(holder).phase is Phase.RUNNING
    assert world.home(HOME).is_newer_than_revision
    assert world.stop(holder).exit_code is ExitCode.DONE
    assert world.home().revision == 1
    world.check_quiet()


def test_one_that_was_queued_before_the_other_took_the_disk_leaves_it_alone_when_removed(world: World) -> None:
    """Its Attempt is older than the other's hold; closing it must not free a disk it never had."""
    world.write(HOME_YAML, workspace_yaml("a", state="Stopped"), workspace_yaml("b", state="Stopped"))
    world.apply()
    world.fault("create", "error CapacityUnavailable", "workspace/a")
    world.start(A, timeout=timedelta(seconds=5))
    assert world.status(A).attempt_uid
    assert world.start(B).exit_code is ExitCode.DONE
    assert world.delete(A).exit_code is ExitCode.DONE
    assert world.home().holder is not None and world.home().holder.address == B
    world.check_quiet()
