"""What completion offers at each place, and that real shells show it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import CommandLine

from nodusctl.base.ids import Address
from nodusctl.cli.command_tree import cached_tree, read_tree
from nodusctl.cli.completing import Names, candidates
from nodusctl.cli.completion_scripts import SCRIPTS
from nodusctl.cli.registry import ENTRIES
from nodusctl.store.names import names_in

_HELD = [Address("volume", "lab-home"), Address("workspace", "lab"), Address("workspace", "studio"), Address("attempt", "lab-1")]
_NAMES = Names(lambda: _HELD, lambda: ["here", "sim"])


@pytest.fixture(scope="module")
def tree() -> object:
    return read_tree()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("versio", ["version"]),
        ("state ", ["show", "history", "mv", "snapshot", "pull", "push", "backup", "restore", "keys"]),
        ("apply --par", ["--parallelism"]),
        ("--color n", ["never"]),
        ("plan --color ", ["auto", "always", "never"]),
        ("stop ", ["lab", "studio"]),
        ("describe w", ["workspace/lab", "workspace/studio"]),
        ("describe ws/s", ["ws/studio"]),
        ("get ws ", ["lab", "studio"]),
        ("get vol", ["volumes", "vol", "volume/lab-home"]),
        ("get ws/lab vol", ["volume/lab-home"]),
        ("get ws -o y", ["yaml"]),
        ("explain att", ["attempt.spec", "attempt/lab-1"]),
        ("doctor s", ["sim"]),
        ("plan --target v", ["volume/lab-home"]),
        ("show ", [":files"]),
        ("init ", [":folders"]),
        ("validate a", [":files"]),
        ("completion z", ["zsh"]),
        ("ssh lab -- l", [":files"]),
        ("show p --format m", ["markdown"]),
        ("version x", []),
    ],
)
def test_candidates_at_a_place(tree: object, line: str, expected: list[str]) -> None:
    assert [one.word for one in candidates(tree, line.split(" "), _NAMES)] == expected  # type: ignore[arg-type]


def test_every_command_is_in_the_tree_and_the_cache_gives_the_same(tree: object, tmp_path: Path) -> None:
    assert cached_tree(tmp_path) == tree
    assert cached_tree(tmp_path) == tree
    assert {path[0] for path in cached_tree(tmp_path) if path} == set(ENTRIES)


def test_a_damaged_cache_is_made_again(tree: object, tmp_path: Path) -> None:
    cached_tree(tmp_path)
    next(tmp_path.glob("*.json")).write_text("{")
    assert cached_tree(tmp_path) == tree


def test_names_come_from_the_state_without_changing_it(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code == 0
    path = cli.folder / ".nodus" / "state.db"
    before = path.read_bytes()
    assert [str(one) for one in names_in(path)] == ["volume/lab-home", "workspace/lab", "attempt/lab-1"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough to be one" * 20])
def test_a_state_that_cannot_be_read_completes_to_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state.db").write_bytes(content)
    assert names_in(tmp_path / "state.db") == ()
    assert names_in(tmp_path / "none.db") == ()


def test_a_faulty_project_file_completes_to_nothing_and_prints_no_error(cli: CommandLine) -> None:
    cli.write("nodusctl.yaml", "state: [1\n")
    ran = cli("__complete", "bash", "stop", "")
    assert (ran.out, ran.err) == ("", "")


def test_the_folder_named_on_the_line_is_the_one_completed_from(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code == 0
    elsewhere = CommandLine(cli.folder.parent)
    assert elsewhere("__complete", "bash", "--chdir", str(cli.folder), "stop", "").out == "lab\n"


def test_descriptions_come_for_shells_that_show_them_only(cli: CommandLine) -> None:
    assert cli("__complete", "bash", "fm").out == "fmt\n"
    assert cli("__complete", "fish", "fm").out.startswith("fmt\t")


_BASH = """
source <(nodusctl completion bash)
try() {
    COMP_LINE="$1"; COMP_POINT=${#1}
    read -ra COMP_WORDS <<<"$1"
    [[ "$1" == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _nodusctl
    echo "${COMPREPLY[*]}"
}
try "nodusctl st"
try "nodusctl stop "
try "nodusctl describe workspace/"
try "nodusctl validate w"
complete -p nodusctl
"""


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def _shell(words: list[str], folder: Path) -> list[str]:
    ended = subprocess.run(words, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=60, check=True)
    assert ended.stderr == ""
    return ended.stdout.splitlines()


def test_bash_completes_after_sourcing_the_script(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code == 0
    lines = _shell(["bash", "--norc", "-c", _BASH], cli.folder)
    assert lines == ["start stop state", "lab", "workspace/lab", "world.yaml ws.yaml", "complete -F _nodusctl nodusctl"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes_after_sourcing_the_script(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code == 0
    lines = _shell(["fish", "--no-config", "-c", "nodusctl completion fish | source; complete -C 'nodusctl stop '"], cli.folder)
    assert lines == ["lab"]


# What zsh's own line editor would be given, printed: words without and with a description, and files.
_ZSH = """
autoload -Uz compinit; compinit -u -d .dump; source <(nodusctl completion zsh)
compadd() { print -r -- ${(P)2} }
_describe() { print -r -- ${${(P)2}%%:*} }
_files() { print files $* }
try() { words=("$@"); CURRENT=$#; _nodusctl || print nothing }
try nodusctl sto
try nodusctl stop ''
try nodusctl describe workspace/
try nodusctl validate w
try nodusctl nonsense ''
"""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes_after_sourcing_the_script(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code == 0
    assert _shell(["zsh", "-f", "-c", _ZSH], cli.folder) == ["stop", "lab", "workspace/lab", "files", "nothing"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_reads_the_script_without_a_fault(tmp_path: Path) -> None:
    script = "autoload -Uz compinit; compinit -u -d .dump; source <(nodusctl completion zsh); print $_comps[nodusctl]"
    assert _shell(["zsh", "-f", "-c", script], tmp_path) == ["_nodusctl"]


@pytest.mark.parametrize("shell", sorted(SCRIPTS))
def test_a_script_says_how_it_is_used(cli: CommandLine, shell: str) -> None:
    assert f"nodusctl completion {shell}" in cli("completion", shell).out


def test_another_shell_is_a_usage_error(cli: CommandLine) -> None:
    assert cli("completion", "tcsh").code == 64
