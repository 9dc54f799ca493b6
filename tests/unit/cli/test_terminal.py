"""The real program on a real terminal: the question, a signal while it waits, and progress drawn in place."""

from __future__ import annotations

import signal

import pytest
from support.commands import CommandLine
from support.terminal import Session


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
