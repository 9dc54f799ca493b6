"""Ctrl-C while calls are out: what is done stays done, what is under way stays written down, and the next apply goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta

from support.world import HOME_YAML, LAB, World, outcome, workspace_yaml

from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.engine.applying import ApplyResult
from nodusctl.executor.runs import Interrupts
from nodusctl.state.status import Phase

A, B, C = (Address("workspace", name) for name in "abc")


def ephemeral(name: str) -> str:
    return workspace_yaml(name, volume="", ephemeral=True)


class Applying:
    """An apply in a thread of its own, as one process runs it, with the person's interrupts."""

    def __init__(self, world: World) -> None:
        self.interrupts = Interrupts()
        self._results: list[ApplyResult] = []
        self._thread = threading.Thread(target=lambda: self._results.append(world.apply(interrupts=self.interrupts)))
        self._thread.start()

    def result(self) -> ApplyResult:
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self._results[0]


def eventually(look: Callable[[], bool], limit_seconds: float = 20) -> None:
    deadline = time.monotonic() + limit_seconds
    while not look():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)


def test_case_4_a_soft_interrupt_keeps_what_runs_and_takes_the_reply_under_way(world: World) -> None:
    world.write(*(ephemeral(name) for name in "abc"))
    world.fault("create", "hang 10s", "workspace/c")  # long enough for a and b to run on a slow computer
    applying = Applying(world)
    watcher = world.again()
    eventually(lambda: watcher.state.journal.exists() and watcher.status(A).phase is watcher.status(B).phase is Phase.RUNNING)
    applying.interrupts.interrupt()
    result = applying.result()
    assert result.exit_code is ExitCode.INTERRUPTED
    assert outcome(result, A).is_ok and outcome(result, B).is_ok
    assert not outcome(result, C).is_ok
    assert watcher.state.journal.open_intents() == (), "the first Ctrl-C waits for calls under way"
    assert watcher.status(C).phase is Phase.STARTING
    watcher.check_quiet()
    again = world.again()
    assert again.apply().exit_code is ExitCode.DONE
    assert [again.count("create", f"workspace/{name}") for name in "abc"] == [1, 1, 1]
    again.check_quiet()


def test_case_4_a_hard_interrupt_leaves_an_open_intent_that_the_next_apply_adopts(world: World) -> None:
    world.write(*(ephemeral(name) for name in "abc"))
    world.fault("create", "hang 8s", "workspace/c", times=1)
    applying = Applying(world)
    watcher = world.again()
    eventually(lambda: watcher.state.journal.exists() and watcher.status(A).phase is watcher.status(B).phase is Phase.RUNNING)
    applying.interrupts.interrupt()
    applying.interrupts.interrupt()
    result = applying.result()
    assert outcome(result, C).has_open_intent
    assert [intent.address for intent in watcher.state.journal.open_intents()] == [C]
    due = watcher.plan().due
    assert [(step.address, step.what) for step in due] == [(C, "adopt the machine if it was made, else ask again")]
    again = world.again()
    assert again.apply().exit_code is ExitCode.DONE
    assert again.status(C).phase is Phase.RUNNING
    assert [again.count("create", f"workspace/{name}") for name in "abc"] == [1, 1, 1]
    again.check_quiet()


def test_after_a_soft_interrupt_nothing_new_begins(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    interrupts = Interrupts()
    interrupts.interrupt()
    result = world.apply(interrupts=interrupts)
    assert result.exit_code is ExitCode.INTERRUPTED
    assert world.cloud.calls("create") == world.cloud.calls("volume-create") == ()
    assert world.status().phase is Phase.PENDING
    world.check_quiet()


def test_a_stop_takes_a_hanging_start_over_instead_of_waiting_for_it(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    world.fault("create", "hang 12s", times=1)
    applying = Applying(world)
    stopper = world.again()
    eventually(lambda: bool(stopper.machines()))
    begun = time.monotonic()
    assert stopper.stop().exit_code is ExitCode.DONE
    assert time.monotonic() - begun < 10, "it didn't wait for the hanging call"
    assert stopper.status().phase is Phase.STOPPED
    assert stopper.machines() == ()
    applying.interrupts.interrupt()
    applying.result()
    assert stopper.status().phase is Phase.STOPPED, "the late reply of a call that was taken over changes nothing"
    assert stopper.machines() == ()
    stopper.check_quiet()


def test_a_timeout_leaves_the_object_on_its_way_and_the_next_apply_goes_on(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    result = world.apply(timeout=timedelta(seconds=10))
    assert result.exit_code is ExitCode.PARTIAL
    assert (outcome(result, LAB).code, world.status().phase) == ("Unfinished", Phase.STARTING)
    world.check_quiet()
    assert world.again().apply().exit_code is ExitCode.DONE
    assert world.count("create") == 1
