"""Which files belong to a project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nodusctl.documents.discovery import discover, read_files
from nodusctl.documents.faults import MAX_BYTES


def tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a: 1\n")


def found(root: Path, *globs: str, exclude: frozenset[Path] = frozenset()) -> list[str]:
    paths = discover(root, globs, exclude) if globs else discover(root, exclude=exclude)
    return [path.relative_to(root).as_posix() for path in paths]


def test_all_yaml_files_but_hidden_ones_and_the_project_file_are_found_sorted(tmp_path: Path) -> None:
    tree(
        tmp_path, "b.yaml", "a.yml", "team/x.yaml", ".nodus/s.yaml", "team/.hidden.yaml", "nodusctl.yaml", "team/nodusctl.yaml", "notes.txt"
    )
    assert found(tmp_path) == ["a.yml", "b.yaml", "team/x.yaml"]


def test_files_that_settings_name_are_left_out(tmp_path: Path) -> None:
    tree(tmp_path, "world.yaml", "ws.yaml")
    assert found(tmp_path, exclude=frozenset({tmp_path / "world.yaml"})) == ["ws.yaml"]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.yaml", ["a.yaml"]),
        ("team/**/*.yaml", ["team/b.yaml", "team/deep/c.yaml"]),
        ("**/[bc].yaml", ["team/b.yaml", "team/deep/c.yaml"]),
        ("./a.y?ml", ["a.yaml"]),
    ],
)
def test_globs_match_as_in_a_shell(tmp_path: Path, glob: str, expected: list[str]) -> None:
    tree(tmp_path, "a.yaml", "team/b.yaml", "team/deep/c.yaml")
    assert found(tmp_path, glob) == expected


def test_paths_are_shown_relative_to_the_project(tmp_path: Path) -> None:
    tree(tmp_path, "team/b.yaml")
    assert read_files(tmp_path, [tmp_path / "team" / "b.yaml"]).files == (("team/b.yaml", b"a: 1\n"),)


def test_a_file_that_cannot_be_read_or_is_too_large_is_a_diagnostic(tmp_path: Path) -> None:
    with (tmp_path / "big.yaml").open("wb") as large:
        os.truncate(large.fileno(), MAX_BYTES + 1)
    read = read_files(tmp_path, [tmp_path / "big.yaml", tmp_path / "absent.yaml"])
    assert [fault.code for fault in read.diagnostics] == ["RequestEntityTooLarge", "Invalid"]
    assert read.files == ()
