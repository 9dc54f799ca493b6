"""The loop: at most so many calls at once, nothing held while waiting, nothing held after an end of any kind."""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.exploding import Fused
from support.world import World, workspace_yaml

from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.state.status import Phase


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "project")


def fleet(world: World, count: int) -> World:
    return world.write(*(workspace_yaml(f"w{number}", volume="", ephemeral=True) for number in range(count)))


class Counting:
    """Counts how many calls are out at once; stands in front of a provider's calls."""

    def __init__(self) -> None:
        self._lock, self._now, self.most = threading.Lock(), 0, 0

    def burn(self, deed: str, *arguments: object) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(0.02)
        with self._lock:
            self._now -= 1


def test_many_machines_boot_at_once_with_few_calls_in_flight(world: World) -> None:
    fleet(world, 12)
    counting = Counting()
    providers = world.providers
    loaded = replace(providers.get("sim"), calls=Fused(providers.get("sim").calls, counting))  # type: ignore[arg-type]
    providers._loaded["sim"] = loaded
    before = world.clock.now()
    assert world.apply(outside=world.outside(providers=providers), parallelism=3).exit_code is ExitCode.DONE
    assert 1 < counting.most <= 3
    assert (world.clock.now() - before).total_seconds() < 60, "twelve boots of 45 s took one boot's time"
    assert len(world.machines()) == 12
    world.check_quiet()


def test_one_hanging_call_leaves_the_others_their_boots(world: World) -> None:
    fleet(world, 4)
    world.fault("create", "hang 1s", "workspace/w0")
    assert world.apply().exit_code is ExitCode.DONE
    assert {world.status(Address("workspace", f"w{number}")).phase for number in range(4)} == {Phase.RUNNING}


def test_one_failure_leaves_the_others_their_success(world: World) -> None:
    fleet(world, 3)
    world.fault("create", "error Invalid", "workspace/w1")
    result = world.apply()
    assert result.exit_code is ExitCode.PARTIAL
    assert [one.phase for one in result.outcomes] == ["Running", "Failed", "Running"]


def test_a_call_past_its_limit_is_given_up_as_unknown_and_settled(world: World) -> None:
    from datetime import timedelta

    fleet(world, 1)
    world.fault("create", "hang 60s", times=1)
    begun = time.monotonic()
    assert world.apply(outside=world.outside(call_limit=timedelta(seconds=0.5))).exit_code is ExitCode.DONE
    assert time.monotonic() - begun < 60
    assert world.count("create") == 1
    world.check_quiet()


def test_after_a_bug_of_ours_no_claim_is_left(world: World) -> None:
    fleet(world, 1)

    class Broken:
        def __getattr__(self, name: str) -> object:
            raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        world.apply(outside=world.outside(keys=Broken()))
    assert world.state.claims.claimed() == ()
    assert world.state.claims.plan_lock() is None
    assert world.again().apply().exit_code is ExitCode.DONE
    world.check_quiet()


def test_progress_says_each_step_once_and_ends(world: World) -> None:
    fleet(world, 1)
    world.apply()
    steps = world.heard.steps(Address("workspace", "w0"))
    assert "its terms are approved: asking for the machine" in steps
    assert all(before != after for before, after in itertools.pairwise(steps))
    assert world.heard.reports[-1].is_over
