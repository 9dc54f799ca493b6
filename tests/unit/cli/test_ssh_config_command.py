"""``nodusctl ssh-config --install`` and the entries it made: of another project's Workspace of one name, or of an earlier one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import LAB, SIMULATED, CommandLine

from nodusctl.base.exits import ExitCode


@pytest.fixture
def both(cli: CommandLine, tmp_path: Path) -> tuple[CommandLine, CommandLine]:
    """One person's two projects, each with a running Workspace ``lab`` and its entry installed, the first project's first."""
    folder = tmp_path / "second"
    folder.mkdir()
    first = replace(cli, environment={**cli.environment, "HOME": str(tmp_path / "home")})
    second = replace(first, folder=folder)
    second.write("nodusctl.yaml", SIMULATED)
    second.write("world.yaml", (cli.folder / "world.yaml").read_text())
    for one in (first, second):
        one.write("ws.yaml", LAB)
        assert one("apply", "--yes").code is ExitCode.DONE
    return first, second


def test_the_one_whose_entry_comes_second_is_told_who_is_reached(both: tuple[CommandLine, CommandLine]) -> None:
    first, second = both
    assert "Another project" not in first("ssh-config", "--install").err
    said = second("ssh-config", "--install")
    assert said.code is ExitCode.DONE
    assert "Another project has a Workspace of this name" in said.err
    assert f"`ssh lab` reaches that of {first.folder}" in said.err
    assert "nodusctl state mv lab NEW" in said.err
    assert "Another project" not in first("ssh-config", "--install").err


def test_an_entry_of_an_earlier_workspace_of_that_name_is_said_to_be_one(both: tuple[CommandLine, CommandLine]) -> None:
    """Else ssh would cry of a changed host key, and nothing is wrong with it."""
    first, _ = both
    first("ssh-config", "--install")
    assert "earlier Workspace" not in first("ssh-proxy", "lab").err
    assert first("destroy", "--yes").code is ExitCode.DONE
    assert first("apply", "--yes").code is ExitCode.DONE
    said = first("ssh-proxy", "nodus-lab")
    assert said.code is ExitCode.ERROR
    assert "The ssh entry is of an earlier Workspace of this name." in said.err
    assert "nodusctl ssh-config --install" in said.err
    first("ssh-config", "--install")
    assert "earlier Workspace" not in first("ssh-proxy", "lab").err
