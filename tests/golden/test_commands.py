"""What people see: the words of each command on one small project, kept beside the tests and reviewed like code.

Run ``pytest tests/golden --snapshot-update`` after a change of words that is meant. Uids, keys, hashes and folders are masked; the time
is the simulated world's and needs no mask.
"""

from __future__ import annotations

import json
import re

import pytest
from support.commands import LAB, CommandLine, Ran
from syrupy.assertion import SnapshotAssertion

from nodusctl.base.exits import ExitCode

_MASKS = (
    (re.compile(r"\"?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\"?"), "<uid>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<hash>"),
    (re.compile(r"nodus-[0-9a-f]{40}"), "<token>"),
    (re.compile(r"ssh-ed25519 [A-Za-z0-9+/=]+"), "<key>"),
    (re.compile(r"\b[a-z_][a-z0-9_-]*@[A-Za-z0-9.-]+"), "<who>"),
    (re.compile(r"Python 3\.\d+\.\d+"), "Python 3.x"),
    (re.compile(r"[0-9a-f]{12}\b(?=$|\s)"), "<short hash>"),
    (re.compile(r"^\d+ of \d+ done.*\n?", re.MULTILINE), ""),
)


def shown(cli: CommandLine, ran: Ran) -> str:
    """A command's words with what differs from run to run masked."""
    parts = [f"exit {int(ran.code)} {ran.code.label}", "--- stdout", ran.out.rstrip(), "--- stderr", ran.err.rstrip()]
    text = "\n".join(parts).replace(str(cli.folder), "<folder>")
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


@pytest.fixture
def applied(cli: CommandLine) -> CommandLine:
    """The project, applied."""
    assert cli("apply", "--yes").code is ExitCode.DONE
    return cli


@pytest.fixture
def stopped(applied: CommandLine) -> CommandLine:
    """The project, applied, used for an hour and stopped."""
    applied("sim", "advance", "1h")
    assert applied("stop", "lab").code is ExitCode.DONE
    return applied


def test_the_help(empty_cli: CommandLine, snapshot: SnapshotAssertion) -> None:
    assert shown(empty_cli, empty_cli("--help")) == snapshot


@pytest.mark.parametrize(
    "words",
    [
        ("validate",),
        ("plan",),
        ("plan", "--offline"),
        ("plan", "--detailed-exitcode", "--target", "volume/lab-home"),
        ("apply", "--yes"),
        ("get", "ws"),
        ("get", "ws/nobody"),
        ("offers",),
        ("offers", "--gpu", "H100", "--count", "8", "--max-rate", "2.00"),
        ("providers", "list"),
        ("state", "show"),
        ("receipts",),
        ("explain", "workspace.spec.idleTimeout"),
        ("explain", "ws.spec.placement"),
        ("explain", "workspace.spec.idleTimout"),
        ("schema",),
        ("sim", "machines"),
        ("sim", "fault", "list"),
        ("unlock", "nothing"),
        ("apply",),
        ("ssh", "lab"),
        ("start", "lab"),
    ],
    ids=" ".join,
)
def test_on_a_new_project(cli: CommandLine, words: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    assert shown(cli, cli(*words)) == snapshot


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--detailed-exitcode"),
        ("get", "ws,vol"),
        ("get", "ws", "-o", "wide"),
        ("get", "ws/lab", "-o", "yaml"),
        ("get", "ws,vol", "-o", "name"),
        ("get", "ws", "-l", "team=vision", "-o", "jsonpath={.items[*].status.phase}"),
        ("get", "ws", "-l", "team!=vision"),
        ("describe", "ws/lab"),
        ("receipts", "lab"),
        ("ssh", "lab"),
        ("sim", "machines"),
        ("sim", "calls", "--op", "create"),
        ("destroy", "--yes"),
        ("delete", "volume/lab-home", "--yes"),
    ],
    ids=" ".join,
)
def test_on_a_running_workspace(applied: CommandLine, words: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    assert shown(applied, applied(*words)) == snapshot


@pytest.mark.parametrize(
    "words",
    [
        ("get", "ws,vol,att"),
        ("describe", "ws/lab"),
        ("describe", "vol/lab-home"),
        ("receipts",),
        ("receipts", "lab"),
        ("explain", "attempt/lab-1"),
        ("start", "lab"),
        ("destroy", "ws/lab", "vol/lab-home", "--yes"),
    ],
    ids=" ".join,
)
def test_on_a_stopped_workspace(stopped: CommandLine, words: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    assert shown(stopped, stopped(*words)) == snapshot


def test_a_changed_file(applied: CommandLine, snapshot: SnapshotAssertion) -> None:
    applied.write("ws.yaml", LAB.replace("idleTimeout: 1h", "idleTimeout: 2h").replace("memory: 16Gi", "memory: 32Gi"))
    assert shown(applied, applied("plan", "--detailed-exitcode")) == snapshot


def test_every_fault_of_a_file_with_its_place(cli: CommandLine, snapshot: SnapshotAssertion) -> None:
    faulty = LAB.replace("idleTimeout: 1h", "idleTimout: 90").replace('maxCostUSD: "5.00"', "maxCostUSD: 5.1").replace("cpu: 4", "cpu: 010")
    cli.write("ws.yaml", faulty + "---\n" + LAB.split("---\n")[1])
    assert shown(cli, cli("validate")) == snapshot


def test_a_plan_as_json_lines(cli: CommandLine, snapshot: SnapshotAssertion) -> None:
    ran = cli("plan", "--json", "--detailed-exitcode")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert lines[0]["type"] == "version"
    assert lines[-1] == {"type": "exit", "code": 2, "name": "changes"}
    assert ran.err == ""
    assert shown(cli, Ran(ran.code, json.dumps(lines, indent=2), "")) == snapshot


def test_a_saved_plan_is_shown_alike_before_and_after_it_was_applied(cli: CommandLine, snapshot: SnapshotAssertion) -> None:
    assert cli("plan", "-o", "p.nodusplan").code is ExitCode.DONE
    before = cli("show", "p.nodusplan")
    assert cli("apply", "p.nodusplan").code is ExitCode.DONE
    after = cli("show", "p.nodusplan")
    assert after.out == before.out
    assert before.err == ""
    assert shown(cli, after) == snapshot


def test_a_plan_is_applied_once(cli: CommandLine, snapshot: SnapshotAssertion) -> None:
    cli("plan", "-o", "p.nodusplan")
    cli("apply", "p.nodusplan")
    assert shown(cli, cli("apply", "p.nodusplan")) == snapshot
    assert cli("sim", "calls", "--op", "create", "--count").out == "1\n"


def test_an_answer_the_provider_never_gave(cli: CommandLine, snapshot: SnapshotAssertion) -> None:
    cli("sim", "fault", "add", "--op", "create", "--match", "workspace/lab", "--effect", "error CapacityUnavailable")
    assert shown(cli, cli("apply", "--yes")) == snapshot
