"""Real processes that are interrupted, ended, killed, or whose reader goes: the state is sound, nothing is locked, the next apply goes on.

Case 4, and what cli.md says of the first and the second Ctrl-C. The machine of ``workspace/c`` takes as long as a fault says, by the wall.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from support.commands import STATE_KEY, CommandLine
from support.open_states import kept
from support.terminal import CTRL_C, Session, environment_of, started
from support.world import workspace_yaml

from nodusctl.base.clock import SystemWall
from nodusctl.base.exits import ExitCode
from nodusctl.ports.claims import LockFacts
from nodusctl.store.opening import State, open_state
from nodusctl.store.sealing import KeyMaterial

NAMES = "abc"
FOR_A_WHILE = "12s"
"""Longer than a slow computer takes until the two others run and the interrupt has come, and worth waiting for."""


def state_of(cli: CommandLine) -> State:
    key = KeyMaterial(text=STATE_KEY)
    return kept(open_state("sqlite:///.nodus/state.db", root=cli.folder, key=key, wall=SystemWall(), holder_command="nodusctl test"))


def phases(cli: CommandLine) -> dict[str, str]:
    document = json.loads(cli("get", "ws", "-o", "json").out)
    return {one["metadata"]["name"]: one["status"]["phase"] for one in document.get("items", [document])}


def eventually(look: Callable[[], bool], limit_seconds: float = 60) -> None:
    deadline = time.monotonic() + limit_seconds
    while not look():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.1)


def two_run(cli: CommandLine) -> bool:
    """Whether only the hanging machine is waited for, as another process sees it."""
    if not (cli.folder / ".nodus" / "state.db").exists():
        return False
    found = phases(cli)
    return found.get("a") == found.get("b") == "Running"


def check_sound(cli: CommandLine) -> None:
    """Nothing is locked or claimed, no intent is open, the books are right, and each machine was made once."""
    state = state_of(cli)
    try:
        assert (state.claims.plan_lock(), state.claims.claimed(), state.journal.open_intents()) == (None, (), ())
    finally:
        state.close()
    assert cli("receipts", "--verify").code is ExitCode.DONE
    for name in NAMES:
        assert cli("sim", "calls", "--op", "create", "--match", f"workspace/{name}", "--count").out == "1\n"


@pytest.fixture
def three(cli: CommandLine) -> CommandLine:
    """Three ephemeral Workspaces that aren't there yet."""
    cli.write("ws.yaml", "---\n".join(workspace_yaml(name, volume="", ephemeral=True) for name in NAMES))
    return cli


def hangs(cli: CommandLine, length: str) -> None:
    assert cli("sim", "fault", "add", "--op", "create", "--match", "workspace/c", "--effect", f"hang {length}", "--times", "1").code == 0


class TestOnATerminal:
    def test_the_first_ctrl_c_finishes_what_is_in_flight_and_shows_it(self, three: CommandLine) -> None:
        hangs(three, FOR_A_WHILE)
        session = Session(three, "apply", "--yes")
        eventually(lambda: two_run(three))
        session.type(CTRL_C)
        session.read_until(lambda said: "Interrupted: nothing new is started" in said)
        session.read_until(lambda said: "workspace/c" in said.partition("Interrupted:")[2])
        assert session.process.poll() is None, "what is awaited is shown while it is awaited"
        assert session.end() == ExitCode.INTERRUPTED
        assert phases(three) == {"a": "Running", "b": "Running", "c": "Starting"}
        check_sound(three)
        assert three("apply", "--yes").code is ExitCode.DONE
        assert phases(three) == dict.fromkeys(NAMES, "Running")
        check_sound(three)

    def test_the_second_ctrl_c_leaves_at_once_with_the_intent_saved(self, three: CommandLine) -> None:
        """The call hangs for longer than any test may wait, so the process was not waiting for it."""
        hangs(three, "10m")
        session = Session(three, "apply", "--yes")
        eventually(lambda: two_run(three))
        session.type(CTRL_C)
        session.read_until(lambda said: "Interrupted: nothing new is started" in said)
        session.type(CTRL_C)
        assert session.end() == ExitCode.INTERRUPTED
        state = state_of(three)
        assert [str(intent.address) for intent in state.journal.open_intents()] == ["workspace/c"]
        assert state.claims.plan_lock() is None
        state.close()
        assert "adopt the machine if it was made" in three("plan").out
        assert three("apply", "--yes").code is ExitCode.DONE
        check_sound(three)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_in_a_script_finishes_what_is_in_flight_and_the_stream_says_the_code(three: CommandLine, number: int) -> None:
    hangs(three, FOR_A_WHILE)
    process = started(three, "apply", "--yes", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    eventually(lambda: two_run(three))
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    code = ExitCode.TERMINATED if number == signal.SIGTERM else ExitCode.INTERRUPTED
    assert (process.returncode, err) == (code, "")
    assert json.loads(out.splitlines()[-1]) == {"type": "exit", "code": int(code), "name": code.label}
    check_sound(three)
    assert three("apply", "--yes").code is ExitCode.DONE
    check_sound(three)


def test_kill_9_leaves_an_intent_that_the_next_apply_settles(three: CommandLine) -> None:
    hangs(three, "10m")
    process = started(three, "apply", "--yes", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: two_run(three))
    process.kill()
    assert process.wait(60) == -signal.SIGKILL
    seen = three("plan")
    assert seen.code is ExitCode.DONE and "adopt the machine if it was made" in seen.out
    assert three("apply", "--yes").code is ExitCode.DONE
    assert phases(three) == dict.fromkeys(NAMES, "Running")
    check_sound(three)


class TestReadersThatGo:
    """``nodusctl apply | head``: somebody stopped reading, which is no word about the work."""

    @pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
    def test_a_broken_pipe_ends_the_printing_and_not_the_apply(self, three: CommandLine, form: tuple[str, ...]) -> None:
        process = started(three, "apply", "--yes", *form, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        complaints = process.stderr.read()
        assert process.wait(60) == 0
        assert "Traceback" not in complaints and "BrokenPipe" not in complaints
        assert phases(three) == dict.fromkeys(NAMES, "Running")
        check_sound(three)

    def test_in_a_shell_too_with_both_streams(self, three: CommandLine) -> None:
        script = 'set -o pipefail; "$0" -m nodusctl apply --yes --json 2>&1 | head -1'
        words = ["bash", "-c", script, sys.executable]
        ran = subprocess.run(words, cwd=three.folder, env=environment_of(three), capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert json.loads(ran.stdout)["type"] == "version"
        check_sound(three)

    def test_a_terminal_that_closes_kills_and_loses_nothing(self, three: CommandLine) -> None:
        """SIGHUP isn't caught: it is as kill -9 is."""
        hangs(three, "10m")
        session = Session(three, "apply", "--yes")
        eventually(lambda: two_run(three))
        session.process.send_signal(signal.SIGHUP)
        session.end()
        assert three("apply", "--yes").code is ExitCode.DONE
        check_sound(three)


READERS = [
    "plan",
    "plan --json",
    "plan -o p.nodusplan",
    "validate",
    "get ws",
    "get ws/a -o json",
    "describe ws/a",
    "receipts",
    "cost",
    "budgets",
    "offers",
    "state show",
    "state history",
    "doctor",
    "drift",
    "comment",
    "home list a",
    "explain workspace.spec",
]


class TestForeignLocks:
    """Readers never touch a lock they did not take, whoever holds it and whether or not they live."""

    @pytest.fixture
    def applied(self, three: CommandLine) -> CommandLine:
        assert three("apply", "--yes").code is ExitCode.DONE
        return three

    @pytest.fixture(params=["alive", "dead"])
    def locked(self, applied: CommandLine, request: pytest.FixtureRequest) -> CommandLine:
        state = state_of(applied)
        state.claims.take_plan_lock("nodusctl apply", timedelta(0))
        if request.param == "dead":
            with sqlite3.connect(applied.folder / ".nodus" / "state.db") as connection:
                connection.execute("UPDATE plan_lock SET pid = 999999999, start_ticks = 1")
        state.close()
        return applied

    @pytest.mark.parametrize("words", READERS)
    def test_a_reader_leaves_it_as_it_is(self, locked: CommandLine, words: str) -> None:
        before = self._lock(locked)
        ran = locked(*words.split())
        assert ran.code in {ExitCode.DONE, ExitCode.ERROR}, ran.err
        assert ran.code is ExitCode.DONE or words in {"doctor", "home list a"}, ran.err
        assert self._lock(locked) == before

    def test_plan_says_who_holds_it_and_goes_on(self, locked: CommandLine) -> None:
        ran = locked("plan")
        assert ran.code is ExitCode.DONE
        assert "No changes" in ran.out and self._lock(locked).id in ran.err

    def test_apply_waits_for_the_living_and_breaks_the_dead(self, locked: CommandLine, request: pytest.FixtureRequest) -> None:
        locked.write("ws.yaml", (locked.folder / "ws.yaml").read_text().replace('"1h"', '"2h"'))
        is_dead = request.node.name.endswith("[dead]")
        assert locked("apply", "--yes", "--lock-timeout", "0s").code is (ExitCode.DONE if is_dead else ExitCode.LOCKED)

    @staticmethod
    def _lock(cli: CommandLine) -> LockFacts:
        state = state_of(cli)
        try:
            lock = state.claims.plan_lock()
            assert lock is not None, "somebody took it away"
            return lock
        finally:
            state.close()


def test_the_folder_has_nothing_half_written(three: CommandLine) -> None:
    """After a kill no temporary file of ours stays beside the project's own."""
    hangs(three, "10m")
    process = started(three, "apply", "--yes", "--json-into", "stream.jsonl", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: two_run(three))
    process.kill()
    process.wait(60)
    assert {path.name for path in Path(three.folder).iterdir()} == {".nodus", "nodusctl.yaml", "ws.yaml", "stream.jsonl"} | (
        {"world.yaml"} if (three.folder / "world.yaml").exists() else set()
    )
    lines = [json.loads(line) for line in (three.folder / "stream.jsonl").read_text().splitlines()]
    assert lines[0]["type"] == "version" and "plan" in {line["type"] for line in lines}, "each line was there when it was said"
