"""``fmt``: which files it touches, and that ``--check`` touches none."""

from __future__ import annotations

from support.commands import SIMULATED, CommandLine

from nodusctl.base.exits import ExitCode

_UNTIDY = "apiVersion:   nodus.dev/v1\nkind: Volume\nmetadata:\n    name: home # the home\n"
_TIDY = "apiVersion: nodus.dev/v1\nkind: Volume\nmetadata:\n  name: home  # the home\n"


def test_only_our_files_are_formatted_and_others_left_alone(empty_cli: CommandLine) -> None:
    empty_cli.write("nodusctl.yaml", SIMULATED)
    empty_cli.write("home.yaml", _UNTIDY)
    empty_cli.write("compose.yaml", "services:\n    web:   {image: nginx}\n")
    assert empty_cli("fmt").code is ExitCode.DONE
    assert (empty_cli.folder / "home.yaml").read_text() == _TIDY
    assert "   {image" in (empty_cli.folder / "compose.yaml").read_text()


def test_check_writes_nothing_and_fails_until_all_is_canonical(empty_cli: CommandLine) -> None:
    empty_cli.write("nodusctl.yaml", SIMULATED)
    empty_cli.write("home.yaml", _UNTIDY)
    ran = empty_cli("fmt", "--check")
    assert ran.code is ExitCode.ERROR
    assert "home.yaml" in ran.out
    assert (empty_cli.folder / "home.yaml").read_text() == _UNTIDY
    empty_cli("fmt")
    assert empty_cli("fmt", "--check").code is ExitCode.DONE


def test_a_file_named_by_hand_is_formatted_whatever_it_holds_and_keeps_its_mode(empty_cli: CommandLine) -> None:
    empty_cli.write("other.yaml", "a:   1\n")
    (empty_cli.folder / "other.yaml").chmod(0o640)
    assert empty_cli("fmt", "other.yaml").code is ExitCode.DONE
    assert (empty_cli.folder / "other.yaml").read_text() == "a: 1\n"
    assert (empty_cli.folder / "other.yaml").stat().st_mode & 0o777 == 0o640


def test_a_faulty_file_is_told_and_left_and_the_others_are_formatted(empty_cli: CommandLine) -> None:
    empty_cli.write("nodusctl.yaml", SIMULATED)
    empty_cli.write("home.yaml", _UNTIDY)
    empty_cli.write("bad.yaml", _UNTIDY + "kind: Volume\n")
    ran = empty_cli("fmt")
    assert ran.code is ExitCode.ERROR
    assert "bad.yaml:5:1" in ran.err
    assert (empty_cli.folder / "home.yaml").read_text() == _TIDY
