"""Looks due together are one call; trouble with one machine stays with its object."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.exploding import Fuse, Fused
from support.world import World, workspace_yaml

from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.executor import drive, looking
from nodusctl.executor.looking import LookCall, asked_together
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.provider.replies import Done, Refused, Reply
from nodusctl.state.status import Phase


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "project")
    return world.write(*(workspace_yaml(f"w{number}", volume="", ephemeral=True) for number in range(6)))


def phases(world: World) -> set[Phase]:
    return {world.status(Address("workspace", f"w{number}")).phase for number in range(6)}


def test_machines_that_boot_together_are_looked_at_together(world: World) -> None:
    asked, providers = Fuse(), world.providers
    providers._loaded["sim"] = replace(providers.get("sim"), calls=Fused(providers.get("sim").calls, asked))
    assert world.apply(outside=world.outside(providers=providers)).exit_code is ExitCode.DONE
    assert asked.deeds.count("launch") == 6
    assert world.count("get") >= 6 * asked.deeds.count("observe") / 2, "each call asked for several machines"
    assert world.count("get") % 6 == 0, "and nobody was asked for more often than the others"


def test_a_machine_that_may_not_be_read_keeps_nobody_from_running(world: World) -> None:
    world.fault("get", "error Unavailable", "workspace/w2")
    world.apply()
    assert phases(world) == {Phase.RUNNING, Phase.STARTING}
    assert world.status(Address("workspace", "w2")).phase is Phase.STARTING


def test_a_look_that_hangs_keeps_the_others_for_moments_only(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive, "TOGETHER_SECONDS", 0.2)
    world.fault("get", "hang 60s", "workspace/w2", times=1)
    began = time.monotonic()
    assert world.apply().exit_code is ExitCode.DONE
    assert time.monotonic() - began < 60
    assert phases(world) == {Phase.RUNNING}


class Platform:
    """Answers a look with what it was given."""

    instance = "sim"

    def __init__(self, *replies: Reply[tuple[Machine, ...]]) -> None:
        self.calls, self._replies = self, list(replies)
        self.questions: list[tuple[str, ...]] = []

    def observe(self, ids: Sequence[str]) -> Reply[tuple[Machine, ...]]:
        self.questions.append(tuple(ids))
        return self._replies.pop(0)


ONE, TWO = (Machine(id=name, state=MachineState.RUNNING) for name in ("i-1", "i-2"))


@pytest.mark.parametrize("reply", [Refused("Forbidden"), Done((ONE,)), Done((TWO, ONE))])
def test_an_answer_that_is_not_one_for_each_counts_for_nobody(reply: Any) -> None:
    platform: Any = Platform(reply)
    looks = [(name, LookCall(loaded=platform, machine_id=name)) for name in ("i-1", "i-2")]
    assert [answer.reply for answer in asked_together(7, looks)] == [None, None]
    assert platform.questions == [("i-1", "i-2")]


def test_an_answer_for_each_goes_to_each() -> None:
    platform: Any = Platform(Done((ONE, TWO)))
    answers = asked_together(7, [(name, LookCall(loaded=platform, machine_id=name)) for name in ("i-1", "i-2")])
    assert [(answer.uid, answer.number, answer.reply) for answer in answers] == [("i-1", 7, Done(ONE)), ("i-2", 7, Done(TWO))]


def test_a_look_of_one_gets_whatever_came() -> None:
    platform: Any = Platform(Refused("Forbidden"))
    (answer,) = asked_together(7, [("i-1", LookCall(loaded=platform, machine_id="i-1"))])
    assert answer.reply == Refused("Forbidden")


def test_a_call_asks_for_so_many_machines_only() -> None:
    platform: Any = Platform()
    together = looking.Together()
    for number in range(looking._AT_ONCE):
        together.add(1, f"w{number}", LookCall(loaded=platform, machine_id=f"i-{number}"))
    assert together.number_for(LookCall(loaded=platform, machine_id="i-x")) is None
