"""When a local machine is idle: what it sees of use, whom it warns, and what is read of the stop afterwards."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from machine_kit import MachineKit, eventually

from nodusctl.provider.agent import AgentAnswer, AgentCommand
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.testing.conformance_hooks import done

pytestmark = pytest.mark.local


class Screen:
    """A person's terminal: an ssh client on a pty of its own."""

    def __init__(self, words: list[str]) -> None:
        self.pid, self._handle = pty.fork()
        if self.pid == 0:
            os.execvp(words[0], words)
        os.set_blocking(self._handle, False)
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self._handle, text.encode())

    def shows(self, part: str) -> bool:
        with suppress(OSError):
            self.shown += os.read(self._handle, 65536).decode(errors="replace")
        return part in self.shown

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._handle)


@contextmanager
def a_screen(kit: MachineKit, machine: Machine) -> Iterator[Screen]:
    """Somebody logged in, at a prompt."""
    screen = Screen(kit.login(machine))
    try:
        screen.type("echo here$((1+1))\n")
        eventually(lambda: screen.shows("here2") or None, "a shell")
        yield screen
    finally:
        screen.close()


def facts(kit: MachineKit, machine: Machine) -> AgentAnswer:
    return done(kit.ask(machine, AgentCommand.FACTS))


def stopped(kit: MachineKit, machine: Machine, limit_seconds: float = 60) -> Machine:
    def look() -> Machine | None:
        seen = kit.seen(machine)
        return seen if seen.state is MachineState.STOPPED else None

    return eventually(look, "the machine ended", limit_seconds)


def has_terminals(kit: MachineKit) -> bool:
    return kit.is_isolated or os.geteuid() == 0


def test_a_machine_left_alone_stops_itself_and_says_why(kit: MachineKit) -> None:
    machine = kit.launched(idle_seconds=6)
    answer = done(kit.ask(machine, AgentCommand.READY))
    assert (answer.idle_timeout_seconds, answer.last_activity_at) == (6, answer.ready_at)
    over = stopped(kit, machine)
    assert over.reason == "idle"
    assert "last activity: none" in over.reason_detail
    assert answer.ready_at is not None
    assert over.ended_at is not None
    assert 6 <= (over.ended_at - answer.ready_at).total_seconds() < 30
    assert kit.running(machine.id) == {}


def test_our_own_questions_keep_no_machine_running(kit: MachineKit) -> None:
    machine = kit.launched(idle_seconds=4)
    deadline = time.monotonic() + 60
    while kit.seen(machine).state is MachineState.RUNNING:
        assert time.monotonic() < deadline
        kit.ask(machine, AgentCommand.FACTS)
    assert stopped(kit, machine).reason == "idle"


def test_what_computes_keeps_its_machine_running_and_is_the_evidence(kit: MachineKit) -> None:
    machine = kit.launched(idle_seconds=6)
    burning = subprocess.Popen(kit.login(machine, "timeout 12 sh -c 'while :; do :; done'"))
    time.sleep(10)
    answer = facts(kit, machine)
    assert [fact.kind for fact in answer.activities] == ["cpu"]
    assert answer.activities[0].detail == "sh"
    burning.wait(timeout=60)
    over = stopped(kit, machine)
    assert "last activity: cpu: sh" in over.reason_detail


@pytest.mark.parametrize("kit", ["isolated"], indirect=True)
def test_typing_at_a_terminal_is_use_and_its_silence_is_warned_before_the_stop(kit: MachineKit) -> None:
    if not has_terminals(kit):
        pytest.skip("no terminals here")
    machine = kit.launched(edge_seconds=3600, idle_seconds=16)
    with a_screen(kit, machine) as screen:
        eventually(lambda: facts(kit, machine).activities or None, "the terminal is a fact")
        answer = facts(kit, machine)
        assert [fact.kind for fact in answer.activities] == ["ssh"]
        assert "pts/" in answer.activities[0].detail
        assert answer.warned_terminals == ()
        eventually(lambda: screen.shows("any key keeps it running") or None, "a warning")
        assert facts(kit, machine).warned_terminals
        screen.type(" ")
        before = answer.last_activity_at
        eventually(lambda: True if facts(kit, machine).last_activity_at != before else None, "a key was use")
        assert kit.seen(machine).state is MachineState.RUNNING
        stopped(kit, machine)
        eventually(lambda: screen.shows("stops now (idle since") or None, "a farewell")
        assert screen.shown.count("any key keeps") == 2


def test_a_machine_with_a_near_edge_tells_whoever_sits_at_a_terminal(kit: MachineKit) -> None:
    if not has_terminals(kit):
        pytest.skip("no terminals here")
    machine = kit.launched(edge_seconds=20, idle_seconds=25)
    with a_screen(kit, machine) as screen:
        eventually(lambda: screen.shows("as its deadline says") or None, "a warning", 20)
        over = stopped(kit, machine)
        screen.shows("")
    assert over.reason == "edge"
    assert screen.shown.count("as its deadline says") == 1


def test_an_attached_but_silent_connection_without_a_terminal_keeps_nothing(kit: MachineKit) -> None:
    machine = kit.launched(idle_seconds=4)
    connected = subprocess.Popen(kit.login(machine, "exec sleep 1006"))
    forwarding = subprocess.Popen([*kit.login(machine)[:-1], "-N", "127.0.0.1"])
    over = stopped(kit, machine)
    assert "last activity: none" in over.reason_detail
    assert (connected.wait(30), forwarding.wait(30)) != (0, 0)


def test_what_a_client_sends_is_use(kit: MachineKit) -> None:
    machine = kit.launched(idle_seconds=60)
    done(kit.ask(machine, AgentCommand.RENEW, idle_timeout_seconds=8))
    sending = subprocess.Popen(kit.login(machine, "cat > received; sleep 1007"), stdin=subprocess.PIPE)
    assert sending.stdin is not None
    sending.stdin.write(b"x" * 20_000)
    sending.stdin.close()
    found = eventually(lambda: facts(kit, machine).activities or None, "sending is a fact")
    assert (found[0].kind, found[0].detail.split()[:2]) == ("ssh", ["input", "for"])
    stopped(kit, machine)
    sending.wait(30)


def test_a_registered_process_keeps_its_machine_running_while_it_lives(kit: MachineKit) -> None:
    machine = kit.launched(idle_seconds=5)
    folder = kit.root / "machines" / machine.id / "run"
    (folder / "registered").mkdir()
    keeper = json.loads((folder / "keeper.json").read_text())
    (folder / "registered" / "p-1.json").write_text(json.dumps({**keeper, "name": "python train.py"}))
    time.sleep(8)
    assert [(fact.kind, fact.detail) for fact in facts(kit, machine).activities] == [("process", "python train.py")]
    (folder / "registered" / "p-1.json").unlink()
    assert "process: python train.py" in stopped(kit, machine).reason_detail


def test_the_idle_timeout_is_changed_while_the_machine_runs_and_read_back(kit: MachineKit) -> None:
    machine = kit.launched(idle_seconds=6)
    never = done(kit.ask(machine, AgentCommand.RENEW, idle_timeout_seconds=0))
    assert (never.idle_timeout_seconds, never.idle_remaining_seconds) == (None, None)
    time.sleep(8)
    assert kit.seen(machine).state is MachineState.RUNNING
    both = done(kit.ask(machine, AgentCommand.RENEW, edge_seconds=900, idle_timeout_seconds=1))
    assert both.idle_timeout_seconds == 1
    assert both.remaining_seconds in range(890, 901)
    assert stopped(kit, machine).reason == "idle"


def test_a_quiesced_machine_is_not_cut_off_by_idleness(kit: MachineKit) -> None:
    machine = kit.launched(idle_seconds=6)
    assert done(kit.ask(machine, AgentCommand.QUIESCE, grace_seconds=1)).idle_remaining_seconds is None
    time.sleep(8)
    assert kit.seen(machine).state is MachineState.RUNNING


def test_a_keeper_killed_while_it_ends_its_machine_leaves_the_reason(kit: MachineKit) -> None:
    machine = kit.launched()
    folder = kit.root / "machines" / machine.id / "run"
    note = {"reason": "idle", "detail": "idle since then", "decided_at": "2099-01-01T00:00:00Z"}
    (folder / "end-note.json").write_text(json.dumps(note))
    keeper = json.loads((folder / "keeper.json").read_text())["pid"]
    os.kill(keeper, signal.SIGKILL)
    eventually(lambda: True if not kit.running(machine.id) else None, "nothing of it runs")
    seen = kit.seen(machine)
    assert (seen.state, seen.reason, seen.reason_detail) == (MachineState.STOPPED, "idle", "idle since then")
    assert seen.ended_at is not None
    assert seen.ended_at.year == 2099
    kit.release(machine.id)
    assert kit.seen(machine).reason == "idle"


def test_facts_survive_in_the_folder_and_secrets_in_command_lines_do_not_get_there(kit: MachineKit) -> None:
    machine = kit.launched(idle_seconds=8)
    burning = subprocess.Popen(kit.login(machine, "timeout 6 bash -c 'while :; do :; done' --token=CANARY"))
    eventually(lambda: facts(kit, machine).activities or None, "a fact")
    kept = (kit.root / "machines" / machine.id / "run" / "activity.json").read_text()
    assert '"kind": "cpu"' in kept
    texts = [path.read_bytes() for path in Path(kit.root / "machines" / machine.id / "run").iterdir() if path.is_file()]
    assert not any(b"CANARY" in text for text in texts)
    burning.wait(60)
