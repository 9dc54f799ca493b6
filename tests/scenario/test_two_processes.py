"""Two processes at one object at once: claims let one step at a time through, so whatever the order, it happens once."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from support.world import HOME_YAML, World, workspace_yaml

from nodusctl.attempts.events import AttemptClosed, AttemptQueued, BecameReady, CapacityEnded, LaunchAccepted
from nodusctl.state.status import Phase

PROCESSES = 3


def in_processes(world: World, command: Callable[[World], object], count: int = PROCESSES) -> list[int]:
    """Run ``command`` in several processes at once, each on its own State; their exit codes."""
    folder = world.folder
    world.state.close()
    world.cloud.close()
    children = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            code = 99
            try:
                command(World(folder))
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


@pytest.fixture
def pending(tmp_path: Path) -> World:
    """A Workspace that is Pending, with nothing asked of the provider yet."""
    from nodusctl.executor.runs import Interrupts

    world = World(tmp_path / "project")
    world.write(HOME_YAML, workspace_yaml())
    interrupts = Interrupts()
    interrupts.interrupt()
    world.apply(interrupts=interrupts)
    assert world.status().phase is Phase.PENDING
    return world


def test_several_processes_that_start_one_workspace_make_one_machine(pending: World) -> None:
    assert in_processes(pending, lambda world: world.apply(lock_timeout=timedelta(seconds=30))) == [0] * PROCESSES
    world = World(pending.folder)
    assert world.status().phase is Phase.RUNNING
    assert (world.count("create"), world.count("volume-create")) == (1, 1)
    for kind in (AttemptQueued, LaunchAccepted, BecameReady):
        assert len(world.events(kind)) == 1, f"{kind.__name__} is written down once"
    world.check_quiet()


def test_several_processes_that_stop_one_workspace_save_once_and_charge_once(pending: World) -> None:
    pending.apply()
    assert in_processes(pending, lambda world: world.stop(lock_timeout=timedelta(seconds=30))) == [0] * PROCESSES
    world = World(pending.folder)
    assert world.status().phase is Phase.STOPPED
    assert world.home().revision == 1
    assert world.machines() == ()
    for kind in (CapacityEnded, AttemptClosed):
        assert len(world.events(kind)) == 1, f"{kind.__name__} is written down once"
    world.check_quiet()


def test_a_stop_and_a_start_at_once_leave_one_machine_or_none(pending: World) -> None:
    """Whichever word came last holds; a carry-on afterwards finds nothing half done."""
    pending.apply(timeout=timedelta(seconds=5))
    folder = pending.folder

    def contrary(world: World) -> object:
        is_even = os.getpid() % 2 == 0
        return (world.stop if is_even else world.start)(lock_timeout=timedelta(seconds=30))

    assert in_processes(pending, contrary, 4) == [0] * 4
    world = World(folder)
    world.apply()
    wanted = world.standing().record.spec.get("state")
    assert world.status().phase is (Phase.STOPPED if wanted == "Stopped" else Phase.RUNNING)
    assert len(world.machines()) == (0 if wanted == "Stopped" else 1)
    world.check_quiet()
