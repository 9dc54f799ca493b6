"""An idle ``tick`` stays light: what it loads, that it is remembered, and what makes a pass load more."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support.commands import NOW, SIMULATED, STATE_KEY, CommandLine

from nodusctl.base.exits import ExitCode
from nodusctl.store.opening import open_state
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.store_hooks import MovedWall

RESTING = """apiVersion: nodus.dev/v1
kind: Workspace
metadata: {name: lab}
spec:
  image: nodus/workspace-cpu
  resources: {cpu: 4, memory: 16Gi}
  ephemeral: true
  tools: [SSH]
  idleTimeout: 1h
  schedule: {readyBy: "2099-01-01T09:00:00Z", stopAt: "2099-01-01T17:00:00Z"}
"""
BUDGET = '---\napiVersion: nodus.dev/v1\nkind: Budget\nmetadata: {name: team}\nspec: {limitUSD: "20.00"}\n'
PROJECT = "project: lab\nproviders:\n  sim: {type: simulated}\n  local: {type: local}\n"
"""With a provider of real time, so that the clock is the computer's."""
HEAVY = ("alembic", "nodus_providers", "nodusctl.engine.rounds", "nodusctl.executor.drive", "nodusctl.plugins", "rich", "sqlalchemy")
PROGRAM = (
    "import sys; sys.argv = ['nodusctl', 'tick']\n"
    "from nodusctl.cli.main import main\n"
    "try: main()\n"
    "except SystemExit as end: code = end.code\n"
    f"print(code, *(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)"
)


@pytest.fixture
def resting(empty_cli: CommandLine) -> CommandLine:
    """A project with one Workspace that is to run in another century."""
    empty_cli.write("nodusctl.yaml", PROJECT)
    empty_cli.write("lab.yaml", RESTING)
    assert empty_cli("apply", "--yes").code is ExitCode.DONE
    return empty_cli


def ticked(cli: CommandLine) -> tuple[str, list[str]]:
    """What a tick in a process of its own says, and its exit code with the heavy modules it has loaded."""
    environment = {**os.environ, "NODUSCTL_STATE_KEY": STATE_KEY}
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=cli.folder, env=environment)
    return ended.stdout.strip(), ended.stderr.splitlines()[-1].split()  # before it, on a slow computer, what it waits for


def passes(cli: CommandLine) -> int:
    """How many passes are remembered."""
    with open_state(
        "sqlite:///.nodus/state.db", root=cli.folder, key=KeyMaterial(text=STATE_KEY), wall=MovedWall(), holder_command="", read_only=True
    ) as state:
        return len(state.passes.latest())


def test_it_loads_no_executor_no_plugin_and_no_database_toolkit_and_is_remembered(resting: CommandLine) -> None:
    assert ticked(resting) == ("Nothing is due.", ["0"])
    assert ticked(resting) == ("Nothing is due.", ["0"])
    assert passes(resting) == 2


def test_without_a_state_it_loads_nothing_of_it_either_and_makes_none(empty_cli: CommandLine) -> None:
    empty_cli.write("nodusctl.yaml", PROJECT)
    assert ticked(empty_cli) == ("Nothing is due.", ["0"])
    assert not (empty_cli.folder / ".nodus").exists()


def test_notices_that_nobody_needs_to_be_told_cost_nothing(resting: CommandLine) -> None:
    resting.write("nodusctl.yaml", PROJECT + "notify: [./tell]\n")
    assert ticked(resting) == ("Nothing is due.", ["0"])


def test_a_budget_is_looked_at_in_full(resting: CommandLine) -> None:
    resting.write("lab.yaml", RESTING + BUDGET)
    assert resting("apply", "--yes").code is ExitCode.DONE
    said, (code, *loaded) = ticked(resting)
    assert (said, code) == ("Nothing is due.", "0")
    assert {"nodusctl.engine.rounds", "sqlalchemy"} <= set(loaded)
    assert passes(resting) == 1


def test_an_opening_that_is_due_is_work(empty_cli: CommandLine) -> None:
    empty_cli.write("nodusctl.yaml", SIMULATED)
    empty_cli.write("lab.yaml", RESTING.replace("2099-01-01", "2026-10-26"))
    assert empty_cli("sim", "init", "--now", NOW).code is ExitCode.DONE
    assert empty_cli("apply", "--yes").code is ExitCode.DONE
    said, (code, *loaded) = ticked(empty_cli)
    assert (said, code) == ("Nothing is due.", "0")
    assert loaded == ["nodus_providers", "nodusctl.plugins"], "what time it is in a simulated world is for its plugin to say"
    assert empty_cli("sim", "advance", "1h45m").code is ExitCode.DONE
    said, (code, *loaded) = ticked(empty_cli)
    assert (said, code) == ("~ workspace/lab  Stopped -> Starting", "0")
    assert "nodusctl.executor.drive" in loaded
