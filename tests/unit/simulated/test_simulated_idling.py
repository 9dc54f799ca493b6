"""When a simulated machine stops itself for idleness: at the exact moment of the world, with the evidence."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from nodusctl.base.exits import UserError
from nodusctl.provider.agent import AgentCommand
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.provider.replies import Refused
from nodusctl.testing.provider_conformance import done

BOOT_SECONDS = 45


def idle_boot(seconds: int | None) -> str:
    return json.dumps({"format": "nodus-bundle/1", "idle_timeout_seconds": seconds})


def running(sim, seconds: int | None = 3600, **changes: object) -> Machine:
    return sim.running(boot=idle_boot(seconds), **changes)


def test_idleness_counts_from_the_moment_of_readiness(sim) -> None:
    machine = running(sim)
    sim.sleep(24 * 3600)
    seen = sim.seen(machine.id)
    assert (seen.state, seen.reason) == (MachineState.STOPPED, "idle")
    assert seen.ended_at - seen.created_at == timedelta(seconds=BOOT_SECONDS + 3600)
    assert "last activity: none" in seen.reason_detail


def test_each_use_puts_the_stop_off_and_the_last_is_the_evidence(sim) -> None:
    machine = running(sim)
    for _ in range(5):
        sim.sleep(3000)
        sim.provider.record_activity(machine.id, "process", "python train.py")
    used_at = sim.clock.now()
    sim.sleep(3599)
    assert sim.seen(machine.id).state is MachineState.RUNNING
    sim.sleep(1)
    seen = sim.seen(machine.id)
    assert (seen.reason, seen.ended_at) == ("idle", used_at + timedelta(hours=1))
    assert "last activity: process: python train.py" in seen.reason_detail


def test_the_agent_tells_where_idleness_stands(sim) -> None:
    machine = running(sim)
    ready_at = sim.clock.now()
    sim.sleep(600)
    answer = done(sim.ask(machine, AgentCommand.FACTS))
    assert (answer.last_activity_at, answer.idle_timeout_seconds, answer.idle_remaining_seconds) == (ready_at, 3600, 3000)
    sim.provider.record_activity(machine.id, "ssh", "vim")
    answer = done(sim.ask(machine, AgentCommand.FACTS))
    assert (answer.last_activity_at, answer.idle_remaining_seconds) == (sim.clock.now(), 3600)


@pytest.mark.parametrize("seconds", [None, 0])
def test_without_a_timeout_a_machine_is_never_idle(sim, seconds: int | None) -> None:
    machine = running(sim, seconds)
    answer = done(sim.ask(machine, AgentCommand.FACTS))
    assert (answer.idle_timeout_seconds, answer.idle_remaining_seconds) == (None, None)
    sim.sleep(7 * 3600)
    assert sim.seen(machine.id).state is MachineState.RUNNING


@pytest.mark.parametrize("boot", ["", "#!", "[]", "{}"])
def test_a_boot_document_of_another_form_has_no_timeout(sim, boot: str) -> None:
    machine = sim.running(boot=boot)
    assert done(sim.ask(machine, AgentCommand.FACTS)).idle_timeout_seconds is None


def test_the_timeout_is_changed_alone_and_read_back(sim) -> None:
    machine = running(sim, edge_seconds=8 * 3600)
    sim.sleep(1800)
    longer = done(sim.ask(machine, AgentCommand.RENEW, idle_timeout_seconds=7200))
    assert (longer.idle_timeout_seconds, longer.idle_remaining_seconds) == (7200, 5400)
    assert longer.remaining_seconds == 8 * 3600 - BOOT_SECONDS - 1800
    never = done(sim.ask(machine, AgentCommand.RENEW, idle_timeout_seconds=0, edge_seconds=3600))
    assert (never.idle_timeout_seconds, never.idle_remaining_seconds, never.remaining_seconds) == (None, None, 3600)
    assert isinstance(sim.ask(machine, AgentCommand.RENEW, idle_timeout_seconds=-1), Refused)


def test_a_timeout_shortened_below_what_has_passed_stops_the_machine_now_and_not_before(sim) -> None:
    machine = running(sim)
    sim.sleep(1800)
    done(sim.ask(machine, AgentCommand.RENEW, idle_timeout_seconds=600))
    shortened_at = sim.clock.now()
    sim.sleep(1)
    seen = sim.seen(machine.id)
    assert (seen.reason, seen.ended_at) == ("idle", shortened_at)


def test_at_one_instant_the_edge_comes_first(sim) -> None:
    machine = running(sim, 600, edge_seconds=BOOT_SECONDS + 600)
    sim.sleep(600)
    assert sim.seen(machine.id).reason == "edge"


def test_a_machine_without_an_edge_does_not_stop_for_idleness_either(sim) -> None:
    sim.fault("create", "no-edge")
    machine = running(sim)
    sim.sleep(48 * 3600)
    assert sim.seen(machine.id).state is MachineState.RUNNING


def test_an_unreachable_machine_still_stops_for_idleness(sim) -> None:
    sim.fault("create", "unreachable")
    machine = running(sim)
    sim.sleep(3600)
    assert sim.seen(machine.id).reason == "idle"


def test_a_quiesced_machine_is_not_cut_off_by_idleness(sim) -> None:
    machine = running(sim)
    done(sim.ask(machine, AgentCommand.QUIESCE, grace_seconds=30))
    sim.sleep(2 * 3600)
    assert sim.seen(machine.id).state is MachineState.RUNNING


def test_only_a_running_machine_can_be_used(sim) -> None:
    machine = sim.launch(boot=idle_boot(600))
    with pytest.raises(UserError):
        sim.provider.record_activity(machine.id, "ssh", "vim")
    sim.sleep(BOOT_SECONDS + 600)
    with pytest.raises(UserError):
        sim.provider.record_activity(machine.id, "ssh", "vim")


def test_the_reason_stays_when_an_idle_machine_is_released(sim) -> None:
    machine = running(sim)
    sim.sleep(3600)
    ended_at = sim.seen(machine.id).ended_at
    sim.release(machine.id)
    seen = sim.seen(machine.id)
    assert (seen.state, seen.reason, seen.ended_at) == (MachineState.GONE, "idle", ended_at)
