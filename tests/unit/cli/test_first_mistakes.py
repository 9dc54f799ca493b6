"""What a newcomer gets wrong in the first hour, and what is said then: before anything is asked, and with the way out."""

from __future__ import annotations

import pytest
from support.commands import CommandLine

from nodusctl.base.exits import ExitCode


def test_a_path_that_is_not_there_is_said_before_anything_is_asked(cli: CommandLine) -> None:
    """Without a terminal and without --yes."""
    ran = cli("apply", "nowhere.yaml")
    assert ran.code is ExitCode.ERROR
    assert "A path does not exist" in ran.err
    assert "nowhere.yaml" in ran.err
    assert "asks before it acts" not in ran.err


def test_a_kind_that_is_none_is_said_before_anything_is_asked(cli: CommandLine) -> None:
    ran = cli("destroy", "workspcae/lab")
    assert ran.code is not ExitCode.DONE
    assert "asks before it acts" not in ran.err


@pytest.mark.parametrize("command", ["ssh", "stop", "start"])
def test_a_misspelt_workspace_is_guessed(cli: CommandLine, command: str) -> None:
    assert cli("apply", "--yes").code is ExitCode.DONE
    ran = cli(command, "labb")
    assert ran.code is ExitCode.ERROR
    assert "Did you mean lab?" in ran.err


def test_a_name_near_to_none_gets_the_list(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code is ExitCode.DONE
    assert "nodusctl get ws" in cli("ssh", "zzz").err


@pytest.mark.parametrize(
    ("written", "fix"),
    [("512MB", "Write 512Mi."), ("16 GB", "Write 16Gi."), ("1.5tb", "Write 1.5Ti."), ("lots", "Write a number of cores such as 4")],
)
def test_a_size_with_another_unit_is_put_right(cli: CommandLine, written: str, fix: str) -> None:
    document = cli.folder / "ws.yaml"
    document.write_text(document.read_text().replace("16Gi", written, 1))
    ran = cli("validate")
    assert ran.code is ExitCode.ERROR
    assert fix in ran.err
