"""The world's clock: it moves when somebody waits, and everything fires at its own instant."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from nodusctl.base.exits import UserError
from nodusctl.provider.agent import AgentCommand
from nodusctl.provider.machines import MachineState
from nodusctl.testing.clocks import FakeWall
from nodusctl.testing.provider_conformance import done


class GateWall(FakeWall):
    """A wall whose sleeps end when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.may_end = threading.Event(), threading.Event()

    def sleep(self, seconds: float) -> None:
        self.began.set()
        assert self.may_end.wait(10)


def test_the_world_begins_at_the_computers_time_and_then_stands_still(sim) -> None:
    assert sim.elapsed() == 0
    sim.wall.advance(3600)
    assert sim.elapsed() == 0
    sim.sleep(1.5)
    assert sim.elapsed() == 1.5


def test_one_long_sleep_fires_each_event_at_its_own_instant(sim) -> None:
    machine = sim.launch(edge_seconds=3600)
    sim.sleep(24 * 3600)
    seen = sim.seen(machine.id)
    assert seen.state is MachineState.STOPPED
    assert seen.reason == "edge"
    assert seen.ended_at - seen.created_at == timedelta(seconds=3600)
    assert sim.elapsed() == 24 * 3600


def test_due_means_at_the_instant_itself(sim) -> None:
    machine = sim.launch()
    sim.sleep(44.999999)
    assert sim.seen(machine.id).state is MachineState.PENDING
    sim.sleep(0.000001)
    assert sim.seen(machine.id).state is MachineState.RUNNING


def test_a_renewed_edge_forgets_the_old_one(sim) -> None:
    machine = sim.running(edge_seconds=3600)
    done(sim.ask(machine, AgentCommand.RENEW, edge_seconds=7200))
    sim.sleep(3600)
    assert sim.seen(machine.id).state is MachineState.RUNNING
    sim.sleep(3600)
    assert sim.seen(machine.id).state is MachineState.STOPPED


def test_a_wait_jumps_when_no_call_works(sim) -> None:
    sim.clock.wait(sim.clock.now() + timedelta(hours=3), threading.Event(), lambda: 0)
    assert sim.elapsed() == 3 * 3600


def test_a_wait_that_was_signalled_moves_nothing(sim) -> None:
    signal = threading.Event()
    signal.set()
    sim.clock.wait(sim.clock.now() + timedelta(hours=3), signal, lambda: 0)
    assert sim.elapsed() == 0


def test_a_wait_lets_working_calls_finish_first(sim) -> None:
    signal = threading.Event()
    threading.Timer(0.05, signal.set).start()
    sim.clock.wait(sim.clock.now() + timedelta(hours=3), signal, lambda: 1)
    assert sim.elapsed() == 0


def test_a_wait_without_an_end_moves_nothing(sim) -> None:
    signal = threading.Event()
    threading.Timer(0.05, signal.set).start()
    sim.clock.wait(sim.clock.now() + timedelta(days=4000), signal, lambda: 0)
    assert sim.elapsed() == 0


def test_a_hanging_call_does_not_hold_the_world(make_sim: Callable) -> None:
    wall = GateWall()
    sim = make_sim(wall=wall)
    sim.fault("create", "hang 60s", match="workspace/c")
    replies = []
    stuck = threading.Thread(target=lambda: replies.append(sim.launch("workspace/c")))
    stuck.start()
    assert wall.began.wait(10)
    machine = sim.launch("workspace/a")
    sim.clock.wait(sim.clock.now() + timedelta(seconds=45), threading.Event(), lambda: 1)
    assert sim.seen(machine.id).state is MachineState.RUNNING
    assert sim.count("create", "workspace/c") == 1
    wall.may_end.set()
    stuck.join(10)
    assert replies[0].state is MachineState.PENDING


def test_time_is_set_forward_only(sim) -> None:
    sim.launch()
    sim.provider.set_time(sim.clock.now() + timedelta(days=1))
    assert sim.elapsed() == 86400
    with pytest.raises(UserError) as caught:
        sim.provider.set_time(sim.clock.now() - timedelta(seconds=1))
    assert "rm " in caught.value.diagnostics[0].fix


def test_a_world_in_which_nothing_has_happened_may_begin_at_any_time(sim) -> None:
    sim.provider.set_time(sim.clock.now() - timedelta(days=40))
    assert sim.elapsed() == -40 * 86400


def test_all_instances_of_a_world_share_its_time(make_sim: Callable) -> None:
    first, second = make_sim(), make_sim()
    first.sleep(100)
    assert second.elapsed() == 100
