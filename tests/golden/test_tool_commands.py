"""What people see of init, fmt, doctor, config, cost, prices, state and explain, kept beside the tests and reviewed like code."""

from __future__ import annotations

import re

import pytest
from support.commands import LAB, CommandLine, Ran
from syrupy.assertion import SnapshotAssertion

from nodusctl.base.exits import ExitCode

_MASKS = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<hash>"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "<short>"),
    (re.compile(r"\b[a-z_][a-z0-9_-]*@[A-Za-z0-9.-]+ *"), "<who> "),
    (re.compile(r"\d+\.\d+ GiB free"), "<room>"),
    (re.compile(r"python( +)3\.\d+\.\d+"), r"python\g<1>3.x"),
    (re.compile(r"(clock +)\S+"), r"\g<1><now>"),
    (re.compile(r"/\S*/(ssh|ssh-keygen)\b"), r"<bin>/\1"),
    (re.compile(r"/\S*/(nodusctl/state\.key)"), r"<data>/\1"),
    (re.compile(r"^\d+ of \d+ done.*\n?", re.MULTILINE), ""),
    (re.compile(r"^.* … \d+s\n?", re.MULTILINE), ""),
)
_BUDGET = """apiVersion: nodus.dev/v1
kind: Budget
metadata: {name: month}
spec:
  limitUSD: "10.00"
  scope: {selector: {matchLabels: {team: vision}}}
"""


def shown(cli: CommandLine, ran: Ran) -> str:
    """A command's words with what differs from run to run masked."""
    parts = [f"exit {int(ran.code)} {ran.code.label}", "--- stdout", ran.out.rstrip(), "--- stderr", ran.err.rstrip()]
    text = "\n".join(parts).replace(str(cli.folder), "<folder>")
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


@pytest.fixture
def stopped(cli: CommandLine) -> CommandLine:
    """The project with a Budget, applied from a saved plan, used for an hour and stopped."""
    cli.write("budget.yaml", _BUDGET)
    assert cli("plan", "-o", "p.nodusplan").code is ExitCode.DONE
    assert cli("apply", "p.nodusplan").code is ExitCode.DONE
    cli("sim", "advance", "1h")
    assert cli("stop", "lab").code is ExitCode.DONE
    return cli


@pytest.mark.parametrize(
    "words",
    [
        ("doctor",),
        ("doctor", "sim"),
        ("doctor", "moon"),
        ("fmt",),
        ("config", "view"),
        ("config", "view", "--origin"),
        ("cost",),
        ("state", "history"),
        ("explain", "attempt/lab-1"),
        ("state", "mv", "ws/lab", "ws/studio"),
        ("get", "ws", "-o", "custom-columns=NAME"),
        ("cost", "--by", "week"),
    ],
    ids=" ".join,
)
def test_on_a_new_project(cli: CommandLine, words: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    assert shown(cli, cli(*words)) == snapshot


@pytest.mark.parametrize(
    "words",
    [
        ("cost",),
        ("cost", "--by", "day"),
        ("cost", "--by", "label=team"),
        ("state", "history"),
        ("state", "mv", "ws/lab", "studio", "--yes"),
        ("state", "mv", "vol/lab-home", "den", "--yes", "--json"),
        ("explain", "attempt/lab-1"),
        ("describe", "attempt/lab-1"),
        ("describe", "vol/lab-home"),
        ("describe", "budget/month"),
        ("get", "budgets"),
        ("get", "ws", "-o", "custom-columns=NAME:.metadata.name,COST:.status.cost.totalUSD,NONE:.status.none"),
    ],
    ids=" ".join,
)
def test_on_a_stopped_workspace(stopped: CommandLine, words: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    assert shown(stopped, stopped(*words)) == snapshot


def test_a_new_project(empty_cli: CommandLine, snapshot: SnapshotAssertion) -> None:
    assert shown(empty_cli, empty_cli("init")) == snapshot
    assert shown(empty_cli, empty_cli("init")) == snapshot
    for name in ("nodusctl.yaml", "lab.yaml", "lab-home.yaml", ".gitignore"):
        assert (empty_cli.folder / name).read_text() == snapshot(name=name)


def test_an_untidy_file(cli: CommandLine, snapshot: SnapshotAssertion) -> None:
    cli.write("ws.yaml", LAB.replace("  cpu", "      cpu").replace("image: ", "image:    "))
    assert shown(cli, cli("fmt", "--check")) == snapshot
    assert shown(cli, cli("fmt")) == snapshot
