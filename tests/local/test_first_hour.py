"""docs/first-hour.md as a newcomer follows it: every command is typed as it is written, into one shell, and does what the page says.

Left out are the two lines that install nodusctl, because it is here. ``ssh`` and ``scp`` are told where the configuration lies: they go by
the account's home folder, and that of whoever runs the tests is not the page's to change.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.local_project import SSHD_IS_HERE
from support.local_world import processes_of
from support.terminal import OnTerminal

pytestmark = [pytest.mark.local, pytest.mark.slow, pytest.mark.skipif(not SSHD_IS_HERE, reason="sshd is not installed")]

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "first-hour.md"
INSTALLING = {"make setup", ". .venv/bin/activate"}
PROMPT = re.compile(r"@(\d+)@ \Z")
STAYS = {".ssh/config", "ssh/id_ed25519", "ssh/id_ed25519.pub", "state.key", "ssh/known_hosts.d", "ssh/open.d", "here/agents", "here/gone"}
"""What the table at the end of the page names, beside the folders above it."""


class Shell:
    """Somebody at a bash in ``home``."""

    def __init__(self, home: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "NODUSCTL_", "DISPLAY", "HIST"))}
        own = {
            "HOME": str(home),
            "PATH": f"{home.parent / 'bin'}:{os.environ['PATH']}",
            "PS1": "@$?@ ",
            "HISTFILE": os.devnull,
            "NO_COLOR": "1",
        }
        self._bash = OnTerminal(["bash", "--norc", "--noprofile", "--noediting", "-i"], REPOSITORY, {**kept, **own})
        self._await_prompt(0)
        for program in ("ssh", "scp"):
            self.type(f'{program}() {{ command {program} -F ~/.ssh/config "$@"; }}')

    def type(self, line: str) -> tuple[int, str]:
        """Type a line, answer yes where it asks; its exit status, and what stood on the terminal."""
        before = len(self._bash.said)
        self._bash.type(f"{line}\n")
        self._await_prompt(before)
        found = PROMPT.search(self._bash.said)
        assert found is not None, f"the shell has ended: {self._bash.said[before:]}"
        return int(found[1]), self._bash.said[before:].replace("\r", "")

    def end(self) -> None:
        self._bash.type("exit\n")
        self._bash.end()

    def _await_prompt(self, before: int) -> None:
        said = self._bash
        said.read_until(lambda text: bool(PROMPT.search(text[before:])) or text[before:].endswith("[y/N] "))
        if said.said[before:].endswith("[y/N] "):
            said.type("yes\n")
            said.read_until(lambda text: bool(PROMPT.search(text[before:])))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "nodusctl"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m nodusctl "$@"\n')
    program.chmod(0o755)
    folder = tmp_path / "home"
    folder.mkdir()
    yield folder
    if (folder / "lab").exists():
        shell = Shell(folder)
        shell.type("nodusctl --chdir ~/lab destroy --yes")
        shell.end()


def lines_of(page: str) -> list[str]:
    """The commands of the page, one a line."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line]


def test_everything_is_as_written(home: Path) -> None:
    shell, said = Shell(home), {}
    for line in lines_of(PAGE.read_text(encoding="utf-8")):
        if line in INSTALLING:
            continue
        status, text = shell.type(line)
        allowed = {0, 1} if line == "nodusctl doctor" else {0}
        assert status in allowed, text
        said.setdefault(line, []).append(text)
        if line.startswith("scp "):
            assert (home / "lab" / "note.txt").read_text() == "hello\n"
    shell.end()

    (planned,) = said["nodusctl plan"]
    assert "FreeCapacity" in planned
    assert planned.splitlines()[-2].startswith("planHash ")
    assert "Running" in said["nodusctl apply"][0]
    assert "\nnote.txt\n" in said["nodusctl ssh lab -- 'echo hello > note.txt; ls'"][0]
    assert "\nhello\n" in said["ssh lab cat note.txt"][0]
    assert [len(re.findall(r"lab-\d", text)) for text in said["nodusctl home list lab"]] == [1, 2]
    assert "\nhello\n" in said["nodusctl ssh lab -- cat note.txt"][0]
    again, cloud = said["nodusctl apply --yes"]
    assert "Due now, whatever the files say\n  workspace/lab: " in again
    assert "ok workspace/lab  Running" in again
    assert "ok workspace/trainer  Running" in cloud
    (calls,) = said["nodusctl sim calls"]
    assert re.search(r"create +workspace/trainer +unknown .*\n.* find +workspace/trainer +done", calls)
    assert said["nodusctl sim machines"][0].count("workspace/trainer  running") == 1
    assert what_stays(home) <= STAYS
    assert processes_of(home, []) == []


def what_stays(home: Path) -> set[str]:
    """Files, each by the shortest name that the page gives it or its folder; the Include is all that is in ssh's configuration.

    An apply that is killed while it builds its machine leaves that half made, for a launch some minutes later to take away; one is killed.
    """
    assert (home / ".ssh" / "config").read_text() == f'Include "{home}/.ssh/config.d/nodusctl"\n'
    half_made = list(home.rglob("machines/.making-*"))
    assert len(half_made) <= 1
    files = [str(path.relative_to(home)) for path in home.rglob("*") if path.is_file() and not {*path.parents} & {*half_made}]
    return {next((name for name in STAYS if f"/{name}/" in f"/{file}/"), file) for file in files}
