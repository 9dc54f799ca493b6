"""Ticks at the same time, beside each other and beside an apply: one makes a step, the others leave it, and nobody waits for anybody."""

from __future__ import annotations

import os
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from support.commands import STATE_KEY, CommandLine
from support.world import HOME_YAML, LAB, World, workspace_yaml

from nodusctl.attempts.events import AttemptQueued, LaunchAccepted, OccurrenceUsed
from nodusctl.base.clock import SystemWall
from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.state.status import Phase
from nodusctl.store.opening import open_state
from nodusctl.store.sealing import KeyMaterial

PROCESSES, THREADS = 10, 5
A, B = Address("workspace", "a"), Address("workspace", "b")
MINUTE = timedelta(minutes=1)


def in_processes(folder: Path) -> list[int]:
    """Fifty ticks at once, five threads in each of ten processes, each with a connection of its own; the processes' exit codes."""
    gate = folder.parent / "gate"
    children = []
    for _ in range(PROCESSES):
        child = os.fork()
        if child == 0:
            code = 99
            try:
                code = _tick_in_threads(folder, gate)
            finally:
                os._exit(code)
        children.append(child)
    gate.touch()
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def _tick_in_threads(folder: Path, gate: Path) -> int:
    """0 where every tick was good."""
    codes: list[int] = []

    def one() -> None:
        world = World(folder)
        while not gate.exists():
            time.sleep(0.001)
        codes.append(int(world.tick().exit_code))
        world.close()

    threads = [threading.Thread(target=one) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 0 if codes == [0] * THREADS else 1


@pytest.mark.slow
def test_fifty_ticks_at_once_make_one_start(tmp_path: Path) -> None:
    world = World(tmp_path / "project")
    world.write(HOME_YAML, workspace_yaml(idleTimeout="0s", annotations={"windows": "daily 12:00-17:00 UTC"}))
    world.apply()
    world.pass_time(timedelta(hours=2, minutes=50))
    folder = world.folder
    world.close()
    assert in_processes(folder) == [0] * PROCESSES
    world = World(folder)
    assert (world.count("create"), world.count("volume-create")) == (1, 1)
    for kind in (OccurrenceUsed, AttemptQueued, LaunchAccepted):
        assert len(world.events(kind)) == 1, f"{kind.__name__} is written down once"
    assert len(world.state.passes.latest(100)) == PROCESSES * THREADS, "every tick is remembered as one"
    world.tick(times=3, every=MINUTE)
    assert world.status().phase is Phase.RUNNING
    assert len(world.machines()) == 1
    world.check_quiet()


def claimed(world: World, address: Address) -> World:
    """Somebody else, who is at work on the object and doesn't let go."""
    other = world.again()
    standing = other.standing(address)
    volume = standing.record.spec.get("volume")
    key = other.standing(Address("volume", volume)) if isinstance(volume, str) else standing
    assert other.state.claims.claim(key.record.uid, "Launch", timedelta(minutes=10)) is not None
    return other


def test_a_tick_that_finds_everything_claimed_is_good_and_does_nothing(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml(annotations={"windows": "daily 12:00-17:00 UTC"}))
    world.apply()
    claimed(world, LAB)
    world.pass_time(timedelta(hours=2, minutes=50))
    result = world.tick()
    assert (result.exit_code, result.moved, result.looked_at) == (ExitCode.DONE, (), 1)
    assert world.count("create") == 0


def test_the_same_on_the_command_line_is_silent(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code is ExitCode.DONE
    key = KeyMaterial(text=STATE_KEY)
    state = open_state("sqlite:///.nodus/state.db", root=cli.folder, key=key, wall=SystemWall(), holder_command="nodusctl apply")
    uids = [standing.record.uid for standing in state.journal.snapshot()]
    assert all(state.claims.claim(uid, "Launch", timedelta(minutes=10)) for uid in uids)
    cli("sim", "advance", "9h")
    ran = cli("tick", "--quiet")
    assert (ran.code, ran.out, ran.err) == (ExitCode.DONE, "", "")


def test_an_apply_that_waits_for_one_object_delays_no_other_objects_stop(world: World) -> None:
    world.write(
        workspace_yaml("a", volume="", ephemeral=True, idleTimeout="0s"),
        workspace_yaml("b", volume="", ephemeral=True, idleTimeout="0s", schedule={"stopAt": "2026-03-02T10:00:00Z"}),
    )
    world.apply()
    claimed(world, A)
    world.pass_time(timedelta(hours=1, minutes=1))
    begun = time.monotonic()
    world.tick(times=2, every=MINUTE)
    assert world.status(B).phase is Phase.STOPPED
    assert world.status(A).phase is Phase.RUNNING
    assert time.monotonic() - begun < 20


def test_a_start_that_hangs_delays_no_stop_of_the_same_tick(world: World) -> None:
    world.write(
        workspace_yaml("a", volume="", ephemeral=True, idleTimeout="0s", schedule={"readyBy": "2026-03-02T10:16:00Z"}),
        workspace_yaml("b", volume="", ephemeral=True, idleTimeout="0s", schedule={"stopAt": "2026-03-02T10:00:00Z"}),
    )
    world.apply()
    world.fault("create", "hang 10m")
    world.pass_time(timedelta(hours=1, minutes=1))
    result = world.tick(outside=world.outside(call_limit=timedelta(seconds=2)))
    stop_asked_at = world.attempts(B)[-1].timings.stop_asked_at
    assert stop_asked_at is not None
    assert stop_asked_at - result.started_at < MINUTE
    assert world.attempts(A)[-1].timings.queued_at >= stop_asked_at
