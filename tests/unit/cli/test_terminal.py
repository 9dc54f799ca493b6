"""The real program on a real terminal: the question, a signal while it waits, and progress drawn in place."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from support.commands import STATE_KEY, CommandLine

LIMIT_SECONDS = 60.0


class Session:
    """One ``nodusctl`` with a terminal of its own."""

    def __init__(self, cli: CommandLine, *words: str) -> None:
        self._ours, theirs = pty.openpty()
        environment = {**os.environ, "NODUSCTL_STATE_KEY": STATE_KEY, "TERM": "xterm", "COLUMNS": "120"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nodusctl", *words], cwd=cli.folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
        )
        os.close(theirs)
        self.said = ""

    def read_until(self, is_there: Callable[[str], bool]) -> None:
        """Read until the words are there or the program ended."""
        ends_at = time.monotonic() + LIMIT_SECONDS
        while not is_there(self.said):
            assert time.monotonic() < ends_at, self.said
            if not select.select([self._ours], [], [], 1.0)[0]:
                continue
            try:
                piece = os.read(self._ours, 65536)
            except OSError:
                return
            self.said += piece.decode("utf-8", "replace")

    def type(self, text: str) -> None:
        """Type at its terminal."""
        os.write(self._ours, text.encode())

    def end(self) -> int:
        """Read to the end; the exit code."""
        self.read_until(lambda said: False)
        return self.process.wait(LIMIT_SECONDS)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_at_the_question_leaves_nothing(cli: CommandLine, number: int, code: int) -> None:
    session = Session(cli, "apply")
    session.read_until(lambda said: "[y/N]" in said)
    before = sorted(str(path) for path in cli.folder.rglob("*"))
    session.process.send_signal(number)
    assert session.end() == code
    after = sorted(str(path) for path in cli.folder.rglob("*"))
    assert after == before
    assert not (cli.folder / ".nodus" / "state.db").exists()
    assert cli("sim", "calls", "--op", "create", "--count").out == "0\n"


def test_a_person_answers_and_watches(cli: CommandLine) -> None:
    session = Session(cli, "apply")
    session.read_until(lambda said: "[y/N]" in said)
    assert session.said.index("Plan: 2 to create.") < session.said.index("[y/N]")
    session.type("yes\n")
    assert session.end() == 0
    assert "workspace/lab" in session.said.partition("[y/N]")[2]
    assert "\x1b[" in session.said


def test_no_color_is_obeyed_on_a_terminal_too(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    session = Session(cli, "plan")
    assert session.end() == 0
    assert "Plan: 2 to create." in session.said
    assert "\x1b[" not in session.said
