"""A process with another key than the state's: it is told so before it begins anything, and never takes that for a provider's fault."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from support.commands import LAB, CommandLine
from support.world import HOME_YAML, World, workspace_yaml
from support.world import LAB as LAB_ADDRESS

from nodusctl.base.exits import ExitCode
from nodusctl.engine.applying import ApplySettings, notes_of, resume
from nodusctl.executor.runs import Interrupts
from nodusctl.store.opening import open_state
from nodusctl.store.sealing import KeyMaterial

OTHER = "a key of somebody else, as long as any"


@pytest.fixture
def other(cli: CommandLine) -> CommandLine:
    """Somebody with another key, in the folder of a project that runs."""
    assert cli("apply", "--yes").code is ExitCode.DONE
    return replace(cli, environment={"NODUSCTL_STATE_KEY": OTHER})


@pytest.mark.parametrize(
    "words",
    [("apply", "--yes"), ("apply", "p.nodusplan"), ("stop", "lab"), ("start", "lab"), ("destroy", "--yes"), ("delete", "ws/lab", "--yes")],
    ids=" ".join,
)
def test_nothing_is_begun_and_the_key_is_named(other: CommandLine, words: tuple[str, ...]) -> None:
    other.write("ws.yaml", LAB.replace("size: 50Gi", "size: 60Gi"))
    assert other("plan", "-o", "p.nodusplan").code is ExitCode.DONE
    state = other.folder / ".nodus" / "state.db"
    before, calls = state.read_bytes(), other("sim", "calls", "--op", "delete", "--count").out
    ran = other(*words)
    assert ran.code is ExitCode.ERROR
    assert "error[StateKeyWrong]" in ran.err
    assert "NODUSCTL_STATE_KEY" in ran.err
    assert other("sim", "calls", "--op", "delete", "--count").out == calls
    assert other("sim", "calls", "--op", "grow", "--count").out == "0\n"
    assert state.read_bytes() == before


def test_the_plan_is_not_used_up(other: CommandLine, cli: CommandLine) -> None:
    cli.write("ws.yaml", LAB.replace("size: 50Gi", "size: 60Gi"))
    assert cli("plan", "-o", "p.nodusplan").code is ExitCode.DONE
    assert other("apply", "p.nodusplan").code is ExitCode.ERROR
    assert cli("apply", "p.nodusplan").code is ExitCode.DONE


def test_what_has_no_machine_needs_no_key(other: CommandLine) -> None:
    budget = "apiVersion: nodus.dev/v1\nkind: Budget\nmetadata: {name: month}\nspec: {limitUSD: '9.00'}\n"
    other.write("budget.yaml", budget)
    assert other("apply", "--yes").code is ExitCode.DONE


def test_a_step_under_way_that_lacks_the_key_says_so(world: World) -> None:
    """As in a tick of a computer that has lost it: the object stays where it is, and no provider is blamed."""
    world.write(HOME_YAML, workspace_yaml())
    world.apply(timeout=timedelta(seconds=10))
    key = KeyMaterial(text=OTHER)
    with open_state("sqlite:///.nodus/state.db", root=world.folder, key=key, wall=world.wall, holder_command="nodusctl tick") as theirs:
        outside = world.outside(journal=theirs.journal, claims=theirs.claims)
        result = resume(outside, (LAB_ADDRESS,), ApplySettings(), Interrupts())
    assert [one.code for one in result.outcomes] == ["StateKeyWrong"]
    assert "config view --origin" in notes_of(result)[0].fix
    assert world.apply().exit_code is ExitCode.DONE
    world.check_quiet()
