"""``init`` makes a project that plans at once, and never touches what is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import CommandLine
from support.programs import equipped

from nodusctl.base.exits import ExitCode
from nodusctl.engine.scaffold import project_name


def test_a_new_project_validates_plans_and_is_in_canonical_form(empty_cli: CommandLine, tmp_path: Path) -> None:
    assert empty_cli("init", "mine").code is ExitCode.DONE
    assert empty_cli("validate", "mine").code is ExitCode.DONE
    plan = equipped(empty_cli, tmp_path / "programs")("plan", "mine")
    assert plan.code is ExitCode.DONE
    assert "2 to create" in plan.out
    assert empty_cli("fmt", "--check", "mine").code is ExitCode.DONE


def test_nothing_that_exists_is_overwritten_and_what_is_missing_comes(empty_cli: CommandLine) -> None:
    empty_cli.write("nodusctl.yaml", "project: old\n")
    empty_cli.write(".gitignore", "*.log")
    ran = empty_cli("init")
    assert ran.code is ExitCode.DONE
    assert (empty_cli.folder / "nodusctl.yaml").read_text() == "project: old\n"
    assert (empty_cli.folder / ".gitignore").read_text().splitlines()[0] == "*.log"
    assert ".nodus/" in (empty_cli.folder / ".gitignore").read_text().splitlines()
    assert (empty_cli.folder / "lab.yaml").exists()


def test_a_second_init_changes_no_byte(empty_cli: CommandLine) -> None:
    empty_cli("init")
    before = _files(empty_cli.folder)
    ran = empty_cli("init")
    assert "already there" in ran.out
    assert _files(empty_cli.folder) == before


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_file_names_its_schema(empty_cli: CommandLine) -> None:
    empty_cli("init")
    for name in ("nodusctl.yaml", "lab.yaml", "lab-home.yaml"):
        assert (empty_cli.folder / name).read_text().startswith("# yaml-language-server: $schema=")


def test_a_place_that_cannot_be_a_folder_is_told(empty_cli: CommandLine) -> None:
    empty_cli.write("taken", "")
    ran = empty_cli("init", "taken")
    assert ran.code is ExitCode.ERROR
    assert "can't be written" in ran.err


@pytest.mark.parametrize(("folder", "name"), [("My Lab", "my-lab"), ("--", "lab"), ("a" * 80, "a" * 63), ("Größe", "gr-e")])
def test_the_project_is_named_for_its_folder(folder: str, name: str) -> None:
    assert project_name(Path("/srv") / folder) == name
