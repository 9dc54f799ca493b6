"""What a simulated machine's agent answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodusctl.base.canonical import digest
from nodusctl.base.exits import UserError
from nodusctl.provider.agent import AgentCommand
from nodusctl.provider.replies import Refused, Unknown
from nodusctl.testing.provider_conformance import done

CANARY = "canary-8f2b1c"


def test_nobody_answers_before_the_boot_is_over_or_after_the_end(sim) -> None:
    machine = sim.launch()
    assert isinstance(sim.ask(machine), Unknown)
    sim.sleep(45)
    answer = done(sim.ask(machine))
    assert answer.ready_at == sim.clock.now()
    assert {tool.name for tool in answer.tools} == {"SSH", "VSCode", "Jupyter"}
    sim.release(machine.id)
    assert isinstance(sim.ask(machine), Unknown)


def test_the_edge_counts_from_the_acceptance_of_the_launch(sim) -> None:
    machine = sim.running(edge_seconds=600)
    assert done(sim.ask(machine)).remaining_seconds == 600 - 45
    assert machine.armed_until == sim.seen(machine.id).armed_until


def test_a_renewal_is_seen_by_the_platform_too(sim) -> None:
    machine = sim.running(edge_seconds=600)
    assert done(sim.ask(machine, AgentCommand.RENEW, edge_seconds=7200)).remaining_seconds == 7200
    assert (sim.seen(machine.id).armed_until - sim.clock.now()).total_seconds() == 7200


@pytest.mark.parametrize("seconds", [None, 0, -5])
def test_a_renewal_without_time_ahead_is_refused(sim, seconds: int | None) -> None:
    machine = sim.running()
    assert isinstance(sim.ask(machine, AgentCommand.RENEW, edge_seconds=seconds), Refused)


def test_pushed_secrets_are_known_by_digest_and_stored_nowhere(sim) -> None:
    files = {"/run/secrets/wandb/key": CANARY, "host_key": "k"}
    machine = sim.running(boot=f"a boot document with {CANARY}")
    answer = done(sim.ask(machine, AgentCommand.SECRETS, files=files))
    assert answer.pushed_digest == digest(files)
    assert answer.has_secrets
    sim.provider.close()
    for path in sim.folder.rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes()


def test_keys_alone_are_no_secrets(sim) -> None:
    machine = sim.running()
    assert not done(sim.ask(machine, AgentCommand.SECRETS, files={"host_key": "k"})).has_secrets


def test_the_last_three_activities_are_told_newest_first(sim) -> None:
    machine = sim.running()
    for number in range(4):
        sim.provider.record_activity(machine.id, "process", f"train {number}")
        sim.sleep(60)
    facts = done(sim.ask(machine, AgentCommand.FACTS))
    assert [activity.detail for activity in facts.activities] == ["train 3", "train 2", "train 1"]
    assert done(sim.ask(machine)).activities == ()


def test_activity_needs_a_known_kind_and_a_live_machine(sim) -> None:
    machine = sim.running()
    with pytest.raises(UserError):
        sim.provider.record_activity(machine.id, "coffee", "")
    sim.provider.kill(machine.id)
    with pytest.raises(UserError):
        sim.provider.record_activity(machine.id, "ssh", "")


def test_a_world_says_which_tools_it_serves(make_sim: Callable) -> None:
    sim = make_sim("manners: {tools: [SSH]}\n")
    assert sim.provider.describe().tools == {"SSH"}
    assert [tool.name for tool in done(sim.ask(sim.running())).tools] == ["SSH"]
