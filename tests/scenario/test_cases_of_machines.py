"""Faults from the field that only a machine shows: secrets echoed, first-boot data, deadlines of many, host keys, disks, attaching."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from support.commands import LAB as LAB_YAML
from support.commands import CommandLine
from support.world import HOME_YAML, World, outcome, workspace_yaml

from nodusctl.attempts.attempt import AttemptPhase
from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.lifecycle.differing import Difference, DriftKind, Sight, machine_differences
from nodusctl.provider.agent import AgentCommand, AgentRequest
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.provider.replies import Done
from nodusctl.state.status import Phase

TOKEN = "hf_TESTSECRET123"
WANDB = "apiVersion: nodus.dev/v1\nkind: Secret\nmetadata: {name: wandb}\nspec: {stringData: {KEY: 'wb_TESTSECRET456'}}\n"
TEN_MINUTES = 600
MANY = 50
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0fAbmkVD1OgAWnXPXSAmeqhUdlwXjw5RKO/YsHE1uc ada"
DISKS = """zones: [{name: us-1a, region: us-1, regionClass: us}]
offers:
  - {id: small-us, instanceType: small, zones: [us-1a], cpu: 4, memory: 16Gi, disk: 100Gi, rateUSDPerHour: "0.20"}
  - {id: large-us, instanceType: large, zones: [us-1a], cpu: 4, memory: 16Gi, disk: 400Gi, rateUSDPerHour: "0.40"}
"""


def facts_of(world: World, machine: Machine, command: AgentCommand = AgentCommand.FACTS) -> tuple[int | None, int | None]:
    """What the machine itself says: seconds to its edge, and its idle timeout."""
    reply = world.cloud.ask_agent(machine.id, AgentRequest(command=command))
    assert isinstance(reply, Done)
    return reply.value.remaining_seconds, reply.value.idle_timeout_seconds


# Case 12


def test_case_12_a_token_in_env_is_refused_and_shown_nowhere(cli: CommandLine) -> None:
    cli.write("ws.yaml", LAB_YAML.replace("  tools: [SSH]", f"  tools: [SSH]\n  env: [{{name: HF_TOKEN, value: {TOKEN}}}]"))
    for words in (("plan",), ("plan", "--json"), ("validate",), ("apply", "--yes")):
        ran = cli(*words)
        assert ran.code is ExitCode.ERROR
        assert "SecretValueInEnv" in ran.out + ran.err
        assert "TESTSECRET" not in ran.out + ran.err


@pytest.mark.parametrize(("operation", "nth"), [("create", "1"), ("agent", "4")], ids=["the launch", "the push"])
def test_case_12_a_secret_is_a_name_and_a_version_in_plan_state_and_errors_that_echo_it(cli: CommandLine, operation: str, nth: str) -> None:
    for text in ("one", "two", "wb_TESTSECRET456"):
        cli.write("wandb.yaml", WANDB.replace("wb_TESTSECRET456", text))
        assert cli("apply", "-f", "wandb.yaml", "--yes").code is ExitCode.DONE
    cli.write("ws.yaml", LAB_YAML.replace("  tools: [SSH]", "  tools: [SSH]\n  secrets: [{name: wandb, version: 3}]"))
    said = [cli("plan", "-o", "p.nodusplan"), cli("show", "p.nodusplan"), cli("show", "p.nodusplan", "--json")]
    assert all(ran.code is ExitCode.DONE for ran in said)
    assert "wandb@3" in said[0].out
    assert "wandb@3" in said[1].out
    echo = "error Unavailable message no: {request} wb_TESTSECRET456"
    cli("sim", "fault", "add", "--op", operation, "--nth", nth, "--times", "50", "--effect", echo)
    said += [cli("apply", "p.nodusplan", "--json", "--timeout", "5m"), cli("describe", "ws/lab"), cli("get", "ws,sec,att", "-o", "yaml")]
    assert "[redacted]" in "".join(ran.out + ran.err for ran in said), "the echo arrived, without the value"
    assert not [ran for ran in said if "TESTSECRET" in ran.out + ran.err]
    state = (path for path in (cli.folder / ".nodus").rglob("*") if path.is_file() and "sim" not in path.parts)
    assert [str(path) for path in (*state, cli.folder / "p.nodusplan") if b"TESTSECRET" in path.read_bytes()] == []


# Case 19


def test_case_19_a_key_is_in_place_at_once_and_first_boot_data_is_that_of_the_next_start(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    world.apply()
    (first,) = world.machines()
    key = f"apiVersion: nodus.dev/v1\nkind: SSHKey\nmetadata: {{name: ada}}\nspec: {{publicKey: '{KEY}'}}\n"
    world.write(HOME_YAML, workspace_yaml(sshKeys=["ada"], image="nodus/workspace-pytorch-cuda"), key)
    (changed,) = (action for action in world.plan().actions if action.address == Address("workspace", "lab"))
    image = next(change for change in changed.changes if change.path == "spec.image")
    assert "next start" in f"{image}{changed.notes}", (image, changed.notes)
    pushes = world.count("agent")
    world.person_keys = (KEY,)
    assert world.apply().exit_code is ExitCode.DONE
    assert [machine.id for machine in world.machines()] == [first.id]
    assert world.count("agent") > pushes, "the key is pushed to the machine that runs"
    assert not world.plan().has_changes

    old = world.attempt()
    assert world.state.journal.secret(f"boot/{old.uid}/{old.try_number}") is not None
    world.stop()
    assert world.start().exit_code is ExitCode.DONE
    new = world.attempt()
    assert (old.uid, old.try_number) != (new.uid, new.try_number), "boot data has the name of its try, so none is ever written over"
    assert world.state.journal.secret(f"boot/{new.uid}/{new.try_number}") is not None
    assert world.state.journal.secret(f"boot/{old.uid}/{old.try_number}") is None, "the old one is removed"
    world.check_quiet()


# Case 30


def test_case_30_fifty_machines_keep_their_deadlines_through_reads_that_fail(tmp_path: Path) -> None:
    world = World(tmp_path / "project")
    names = [f"w{number:02}" for number in range(MANY)]
    world.write(*(workspace_yaml(name, volume="", ephemeral=True, idleTimeout="10m", maxCostUSD="5.00") for name in names))
    chance = random.Random(30)
    for name in chance.sample(names, 20):
        world.fault("get", "error Unavailable", f"workspace/{name}", nth=chance.randint(1, 3), times=chance.randint(1, 2))
    assert world.apply(parallelism=20, timeout=timedelta(hours=1)).exit_code is ExitCode.DONE
    specs = {name: world.standing(Address("workspace", name)).record.spec for name in names}
    machines = world.machines()
    assert sorted(machine.tags["nodus-address"] for machine in machines) == [f"workspace/{name}" for name in names]
    assert world.count("create") == MANY
    assert all(machine.armed_until is not None for machine in machines)
    told = [facts_of(world, machine) for machine in machines]
    assert all(remaining and idle == TEN_MINUTES for remaining, idle in told)

    for name in chance.sample(names, 20):
        world.fault("get", "error Unavailable", f"workspace/{name}", times=2)
    world.tick()
    assert {name: world.standing(Address("workspace", name)).record.spec for name in names} == specs, "no look writes a spec"
    assert {world.status(Address("workspace", name)).phase for name in names} == {Phase.RUNNING}
    world.heal()
    world.pass_time(timedelta(minutes=11))
    assert {machine.state for machine in world.machines()} == {MachineState.STOPPED}, "each ended itself, unasked"
    world.tick(times=2)
    assert world.machines() == ()
    world.check_quiet()


def test_case_30_one_without_its_lease_agent_is_failed_and_deleted_and_the_others_run(world: World) -> None:
    names = ["a", "b", "c"]
    world.write(*(workspace_yaml(name, volume="", ephemeral=True, idleTimeout="10m", maxCostUSD="5.00") for name in names))
    world.fault("create", "no-edge", "workspace/b")
    result = world.apply(timeout=timedelta(hours=6))
    assert outcome(result, Address("workspace", "b")).code == "StartTimeout"
    assert world.status(Address("workspace", "b")).phase is Phase.FAILED
    assert {one.phase for one in world.attempts(Address("workspace", "b"))} == {AttemptPhase.FAILED}
    assert world.machines("workspace/b") == ()
    assert all(machine.armed_until is not None for machine in world.machines())
    assert {world.status(Address("workspace", name)).phase for name in ("a", "c")} == {Phase.RUNNING}
    world.check_quiet()


def test_case_30_a_running_machine_whose_deadline_is_gone_is_drift(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    world.apply()
    (machine,) = world.machines()
    attempt = world.attempt()
    sight = Sight(provider="sim", now=world.clock.now(), list_lag_bound=timedelta(0), accepted=machine)
    (found,) = machine_differences(attempt.owner, Phase.RUNNING, attempt, replace(machine, armed_until=None), sight)
    assert isinstance(found, Difference)
    assert (found.kind, found.found) == (DriftKind.EDGE_NOT_AS_ARMED, "none")


# One line each


def test_more_a_host_key_that_changes_after_a_restart_is_refused_with_the_pinned_one(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    world.apply()
    pinned = world.status().host_key
    assert pinned
    world.stop()
    world.fault("agent", "error HostKeyChanged", nth=3, times=1)  # the first look under the pinned key
    assert world.start(timeout=timedelta(hours=1)).exit_code is ExitCode.DONE
    assert world.status().host_key == pinned, "the pin stands, whatever a machine answers with"
    _, stranger, used = world.attempts()
    assert (stranger.phase, stranger.stop_reason) == (AttemptPhase.FAILED, "HostKeyChanged")
    assert stranger.timings.ready_at is None
    assert [machine.tags["nodus-attempt"] for machine in world.machines()] == [used.uid]
    world.check_quiet()


def test_more_a_machine_with_a_smaller_disk_is_not_taken_for_a_larger_need(tmp_path: Path) -> None:
    world = World(tmp_path / "project", world=DISKS)

    def written(disk: str) -> None:
        world.write(workspace_yaml(volume="", ephemeral=True, resources={"cpu": 4, "memory": "16Gi", "disk": disk}))

    written("100Gi")
    world.apply()
    assert [machine.offer_id for machine in world.machines()] == ["small-us"]
    world.stop()
    written("200Gi")
    world.apply()
    assert world.start().exit_code is ExitCode.DONE
    assert [machine.offer_id for machine in world.machines()] == ["large-us"]
    world.stop()
    written("500Gi")
    (reason,) = world.plan().reasons
    assert reason.code == "CapacityUnavailable"
    assert "disk 0" in reason.message


def test_more_attaching_before_the_machine_runs_is_waited_for_and_tried_again(tmp_path: Path) -> None:
    world = World(tmp_path / "project", world="manners: {attachesWhileBooting: false}\n")
    world.write(HOME_YAML, workspace_yaml())
    world.fault("attach", "error Unavailable", times=2)
    assert world.apply().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.RUNNING
    assert world.count("attach") == 3
    assert (world.count("create"), world.count("volume-create")) == (1, 1)
    assert world.home().holder is not None
    world.check_quiet()
