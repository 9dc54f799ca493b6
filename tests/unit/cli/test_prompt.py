"""The question before an apply."""

from __future__ import annotations

import pytest
from support.commands import CommandLine

from nodusctl.base.exits import ExitCode


@pytest.mark.parametrize("words", [("apply",), ("destroy",), ("delete", "ws/lab")])
def test_without_a_terminal_and_without_yes_it_fails_at_once_and_names_the_flag(cli: CommandLine, words: tuple[str, ...]) -> None:
    ran = cli(*words)
    assert ran.code is ExitCode.USAGE
    assert "--yes" in ran.err
    assert cli("sim", "calls", "--count").out == "0\n"


def test_the_plan_stands_before_the_question(cli: CommandLine) -> None:
    ran = cli("apply", stdin="n\n", on_terminal=True)
    assert "Plan: 2 to create." in ran.out
    assert "Apply this plan? [y/N]" in ran.err


@pytest.mark.parametrize("answer", ["", "n\n", "no\n", "sure\n"])
def test_anything_but_yes_changes_nothing(cli: CommandLine, answer: str) -> None:
    ran = cli("apply", stdin=answer, on_terminal=True)
    assert ran.code is ExitCode.ERROR
    assert not (cli.folder / ".nodus" / "state.db").exists()


def test_yes_applies(cli: CommandLine) -> None:
    assert cli("apply", stdin="yes\n", on_terminal=True).code is ExitCode.DONE
    assert "Running" in cli("get", "ws").out


def test_what_is_blocked_is_never_asked_about(cli: CommandLine) -> None:
    text = (cli.folder / "ws.yaml").read_text(encoding="utf-8")
    cli.write("ws.yaml", text.replace("cpu: 4, memory: 16Gi", "cpu: 400"))
    ran = cli("apply", stdin="yes\n", on_terminal=True)
    assert ran.code is ExitCode.BLOCKED
    assert "[y/N]" not in ran.err
