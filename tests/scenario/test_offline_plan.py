"""Planning where nothing can be reached: from a snapshot without secrets, with the hash the state itself would give."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import LAB, STATE_KEY, CommandLine

from nodusctl.base.exits import ExitCode

SECRET = """apiVersion: nodus.dev/v1
kind: Secret
metadata: {name: wandb}
spec: {stringData: {token: TESTSECRET-of-nobody-12345}}
"""
BUDGET = """apiVersion: nodus.dev/v1
kind: Budget
metadata: {name: all}
spec: {limitUSD: "50.00", period: Monthly, action: Block}
"""
SECOND = LAB.replace("name: lab,", "name: second,").replace("  volume: lab-home\n", "  ephemeral: true\n").split("---")[0]
WINDOWED = SECOND.replace("name: second,", "name: night,").replace(
    "  ephemeral: true\n", '  ephemeral: true\n  schedule: {stopAt: "2026-10-26T18:00:00Z"}\n'
)


def hash_of(cli: CommandLine, *words: str) -> str:
    ran = cli("plan", *words, "--json")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    return next((line["planHash"] for line in lines if line["type"] == "plan"), f"no plan: {ran}")


def edited(cli: CommandLine) -> None:
    cli.write("ws.yaml", LAB.replace("idleTimeout: 1h", "idleTimeout: 2h").replace("{cpu: 4, memory: 16Gi}", "{cpu: 8, memory: 16Gi}"))


def added(cli: CommandLine) -> None:
    cli.write("second.yaml", SECOND)


def removed(cli: CommandLine) -> None:
    (cli.folder / "ws.yaml").unlink()
    cli.write("second.yaml", SECOND)


def windowed(cli: CommandLine) -> None:
    cli.write("night.yaml", WINDOWED)


def with_budget_and_secret(cli: CommandLine) -> None:
    cli.write("more.yaml", f"{BUDGET}---\n{SECRET}".replace("wandb", "other").replace("name: all", "name: more"))


@pytest.fixture
def team(cli: CommandLine) -> CommandLine:
    """A project with a state: a Workspace up, its home, a Secret, a Budget, a session that is over and what it cost."""
    cli.write("shared.yaml", f"{SECRET}---\n{BUDGET}")
    assert cli("apply", "--yes").code is ExitCode.DONE
    cli("sim", "advance", "30m")
    assert cli("stop", "lab").code is ExitCode.DONE
    assert cli("start", "lab").code is ExitCode.DONE
    return cli


@pytest.mark.parametrize("change", [edited, added, removed, windowed, with_budget_and_secret])
def test_the_plan_from_the_snapshot_has_the_hash_of_the_plan_from_the_state(
    team: CommandLine, change: Callable[[CommandLine], None]
) -> None:
    assert team("state", "snapshot", "-o", "s.json").code is ExitCode.DONE
    change(team)
    from_state = hash_of(team)
    offline = hash_of(team, "--snapshot", "s.json")
    assert offline == from_state
    applied = team("apply", "--plan-hash", offline, "--ci")
    assert applied.code is ExitCode.DONE, applied.err


def test_with_an_empty_environment_and_no_state_the_hash_is_the_same_and_it_can_be_applied(team: CommandLine, tmp_path: Path) -> None:
    """The acceptance of the design: the checkout alone, no credential, no variable of any kind."""
    assert team("state", "snapshot").code is ExitCode.DONE
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    edited(team)
    for name in ("nodusctl.yaml", "ws.yaml", "shared.yaml", ".nodus.snapshot.json"):
        (checkout / name).write_text((team.folder / name).read_text())
    # What an installed program finds by itself; a program run from its sources has to be told.
    command = [sys.executable, "-m", "nodusctl", "plan", "--offline", "--json"]
    sources = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    ran = subprocess.run(command, cwd=checkout, env=sources, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    plan = next(line for line in lines if line["type"] == "plan")
    assert plan["planHash"] == hash_of(team)
    assert not (checkout / ".nodus").exists(), "nothing was opened and nothing made"
    assert team("apply", "--plan-hash", plan["planHash"], "--yes").code is ExitCode.DONE


def test_a_project_without_a_state_is_planned_from_its_snapshot_too(cli: CommandLine) -> None:
    assert cli("state", "snapshot", "-o", "s.json").code is ExitCode.DONE
    assert hash_of(cli, "--snapshot", "s.json") == hash_of(cli)


def test_no_secret_and_nothing_a_secret_could_be_guessed_from_is_in_the_snapshot(team: CommandLine) -> None:
    from nodusctl.store.opening import open_state
    from nodusctl.store.sealing import KeyMaterial

    team("state", "snapshot", "-o", "s.json")
    text = (team.folder / "s.json").read_text()
    assert "TESTSECRET" not in text and STATE_KEY not in text
    from nodusctl.base.clock import SystemWall

    state = open_state(
        "sqlite:///.nodus/state.db",
        root=team.folder,
        key=KeyMaterial(text=STATE_KEY),
        wall=SystemWall(),
        holder_command="test",
        read_only=True,
    )
    standings = {str(one.record.address): one for one in state.journal.snapshot()}
    secret, lab = standings["secret/wandb"].status.secret, standings["workspace/lab"].status
    assert secret is not None and lab.host_key
    private = [*secret.hmacs.values(), lab.host_key, lab.host_key.split()[1]]
    (attempt,) = (one for one in state.journal.attempts() if one.uid == lab.attempt_uid)
    assert attempt.terms is not None
    private += [one for one in (attempt.token, attempt.bootstrap_host_key, standings["workspace/lab"].record.approval.approved_by) if one]  # type: ignore[union-attr]
    state.close()
    assert len(private) >= 5
    assert [one for one in private if one in text] == []


def test_a_plan_from_a_snapshot_is_not_applied_as_a_file(team: CommandLine) -> None:
    team("state", "snapshot", "-o", "s.json")
    edited(team)
    planned = team("plan", "--snapshot", "s.json", "-o", "p.nodusplan")
    assert planned.code is ExitCode.DONE
    assert "To apply exactly this:\n  nodusctl apply --plan-hash" in planned.err and "apply p.nodusplan" not in planned.err
    refused = team("apply", "p.nodusplan")
    assert refused.code is ExitCode.REFUSED
    assert "nodusctl apply --plan-hash" in refused.err
    assert "as written down at" in team("show", "p.nodusplan").out


def test_a_snapshot_that_the_state_has_left_behind_is_refused_at_apply_with_the_serial(team: CommandLine) -> None:
    team("state", "snapshot", "-o", "s.json")
    edited(team)
    offline = hash_of(team, "--snapshot", "s.json", "-o", "p.nodusplan")
    team("stop", "lab", "--park")
    refused = team("apply", "--plan-hash", offline, "--yes")
    assert refused.code is ExitCode.REFUSED
    assert "serial:" in refused.err


def test_settings_that_differ_from_those_the_snapshot_was_taken_with_give_no_offers(team: CommandLine) -> None:
    """A branch that points a provider elsewhere is not priced with what the former place sells."""
    team("state", "snapshot", "-o", "s.json")
    edited(team)
    config = (team.folder / "nodusctl.yaml").read_text()
    team.write("nodusctl.yaml", config.replace("world: world.yaml", "world: other.yaml"))
    planned = team("plan", "--snapshot", "s.json")
    assert planned.code is ExitCode.BLOCKED
    assert "the snapshot was taken with other settings of it" in planned.out
    team.write("nodusctl.yaml", config.replace("  sim:", "  new: {type: simulated, world: world.yaml}\n  sim:"))
    assert "older than its entry in nodusctl.yaml" in " ".join(team("plan", "--snapshot", "s.json").err.split())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no complete JSON document"),
        ("{}", "no snapshot of a state"),
        ('{"nodusSnapshot": 99}', "format 99"),
        ('{"nodusSnapshot": 1, "snapshot": {}, "fileDigest": "00"}', "changed after it was written"),
    ],
)
def test_a_file_that_is_no_snapshot_is_told(cli: CommandLine, text: str, why: str) -> None:
    cli.write("s.json", text)
    refused = cli("plan", "--snapshot", "s.json")
    assert refused.code is ExitCode.ERROR
    assert "error[SnapshotUnreadable]" in refused.err and why in " ".join(refused.err.split())
    assert "error[SnapshotUnreadable]" in cli("plan", "--snapshot", "nowhere.json").err


def test_a_snapshot_of_another_project_is_refused(team: CommandLine) -> None:
    team("state", "snapshot", "-o", "s.json")
    team.write("nodusctl.yaml", (team.folder / "nodusctl.yaml").read_text().replace("project: lab", "project: other"))
    refused = team("plan", "--snapshot", "s.json")
    assert refused.code is ExitCode.ERROR
    assert "The state belongs to another project" in refused.err


def test_no_command_of_the_files_runs_in_an_offline_plan(team: CommandLine) -> None:
    """A fork's files are somebody else's: neither a Secret's command nor the project's policy command is run."""
    team("state", "snapshot", "-o", "s.json")
    trace = team.folder / "ran"
    team.write(
        "fork.yaml",
        SECRET.replace("wandb", "fork").replace(
            "stringData: {token: TESTSECRET-of-nobody-12345}", f"valueFrom: {{token: {{command: [touch, {trace}]}}}}"
        ),
    )
    planned = team("plan", "--snapshot", "s.json")
    assert planned.code is ExitCode.DONE
    assert "value taken at apply" in planned.out
    assert not trace.exists()


def test_an_offline_plan_without_a_snapshot_has_no_price_and_is_not_applied_as_a_file(cli: CommandLine) -> None:
    planned = cli("plan", "--offline", "-o", "p.nodusplan")
    assert planned.code is ExitCode.DONE and "Saved for review; it can't be applied as it is" in planned.err
    refused = cli("apply", "p.nodusplan")
    assert refused.code is ExitCode.PRICE
    assert "error[PriceUnknown]" in refused.err
    assert cli("sim", "calls", "--op", "create", "--count").out == "0\n"


def test_a_silent_provider_leaves_a_snapshot_without_offers_and_says_so(team: CommandLine) -> None:
    team("sim", "fault", "add", "--op", "price", "--effect", "error Unavailable message down")
    taken = team("state", "snapshot", "-o", "s.json")
    assert taken.code is ExitCode.BLOCKED
    assert "warning[ProviderNotReady]" in taken.err
    assert (team.folder / "s.json").exists()


def test_the_snapshot_has_the_time_of_a_simulated_world(team: CommandLine) -> None:
    """The world's clock isn't this computer's; without the world its time is the one that was written down."""
    team("state", "snapshot", "-o", "s.json")
    windowed(team)
    later = replace(team, environment={"NODUSCTL_NOW": "2027-01-01T00:00:00Z"})
    assert hash_of(later, "--snapshot", "s.json") == hash_of(team, "--snapshot", "s.json")
