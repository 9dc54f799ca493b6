"""How the agent in plain shell is asked: through pipes that whoever knocks is handed. Run whole, by the shells guests have, in a folder."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nodusctl.base.canonical import digest
from nodusctl.bootstrap import cloud_init

AGENT = Path(cloud_init.__file__).parent / "shell_agent" / "agent.sh"
SHELLS = [words for words in (("sh",), ("busybox", "sh"), ("bash", "--posix")) if shutil.which(words[0])]
LIMIT_SECONDS = 30.0
AWKWARD = {
    "run/secrets/hf/TOKEN": "hf value with 'quotes', \"double ones\" and \\backslashes\\",
    "run/secrets/hf/lines": "one\n\ntwo\n",
    "run/secrets/hf/none": "",
    "run/secrets/tls/unended": "\ttab\r\nétage \x01\x1f 日本",
    "environment": '{"A": "it\'s", "B": "two\\nlines"}',
}


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate that runs. ``folder`` is what is /run/nodus on a machine."""

    folder: Path
    log: Path

    def knock(self, number: int, *requests: dict[str, Any]) -> list[dict[str, Any]]:
        """The answers to requests on one connection."""
        with (self.folder / "gate/bell").open("w") as bell:
            bell.write(f"{number}\n")
        pipes = self.folder / "gate" / str(number)
        until((pipes / "a").exists, "the pipes")
        answers = []
        with (pipes / "q").open("w") as questions, (pipes / "a").open() as told:
            for request in requests:
                questions.write(json.dumps(request) + "\n")
                questions.flush()
                answers.append(json.loads(told.readline()))
        until(lambda: not pipes.exists(), "the end of the connection")
        return answers


def until(happens: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not happens():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.01)


@pytest.fixture(params=SHELLS, ids=" ".join)
def gate(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Gate]:
    folder, log = tmp_path / "nodus", tmp_path / "log"
    for name in ("state", "gate", "work", "etc", "vault"):
        (folder / name).mkdir(parents=True)
    (folder / "work").chmod(0o700)
    (tmp_path / "secrets").mkdir()
    os.mkfifo(folder / "gate/bell")
    text = AGENT.read_text(encoding="utf-8")
    # The user nodus is not on this computer, whose shell may have a chown of its own.
    for ours, theirs in (
        ("R=/run/nodus\n", f"R={folder}\n"),
        ("SECRETS=/run/secrets\n", f"SECRETS={tmp_path}/secrets\n"),
        ("chown ", "true "),
    ):
        assert ours in text
        text = text.replace(ours, theirs)
    (folder / "agent.sh").write_text(text, encoding="utf-8")
    (folder / "boot.env").write_text("idle_timeout_seconds=0 home_mount=/home/nodus tools='SSH Jupyter'\n", encoding="utf-8")
    with log.open("w") as said:
        running = subprocess.Popen([*request.param, str(folder / "agent.sh"), "gate"], stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    try:
        until((folder / "work/next/a").exists, "the first pipes")
        yield Gate(folder, log)
    finally:
        running.kill()
        running.wait()


def test_questions_are_answered_in_their_order_on_any_number_of_connections(gate: Gate) -> None:
    first, second, third = gate.knock(7, {"command": "ready"}, {"command": "renew", "edge_seconds": 900}, {"command": "dance"})
    assert (first["remaining_seconds"], first["home"], first["warned_terminals"]) == (0, "/home/nodus", [])
    assert [(one["name"], one["has_answered"]) for one in first["tools"]] == [("SSH", True), ("Jupyter", False)]
    assert 880 <= second["remaining_seconds"] <= 900
    assert third["error"]["code"] == "Unsupported"
    (again,) = gate.knock(7, {"command": "facts"})
    assert again["ready_at"] == first["ready_at"]
    until(lambda: [path.name for path in (gate.folder / "work").iterdir() if path.name != "next"] == ["3"], "an end of what was answered")


def test_the_digest_is_the_one_that_is_compared(gate: Gate) -> None:
    """Whatever lies in the files; asked for by name it is of these, else of all that was ever pushed; nothing of a question is left."""
    secrets, later, ready = gate.knock(
        1,
        {"command": "secrets", "files": AWKWARD},
        {"command": "secrets", "files": {"tools.json": "{}"}},
        {"command": "ready"},
    )
    assert secrets["pushed_digest"] == digest(AWKWARD)
    assert later["pushed_digest"] == digest({"tools.json": "{}"})
    assert ready["pushed_digest"] == digest({**AWKWARD, "tools.json": "{}"})
    assert (gate.folder.parent / "secrets/tls/unended").read_bytes().decode() == AWKWARD["run/secrets/tls/unended"]
    assert ready["has_secrets"] is True


def test_a_refused_push_leaves_nothing_for_the_next_question(gate: Gate) -> None:
    refused, ready = gate.knock(1, {"command": "secrets", "files": {"run/secrets/../x": "leaked"}}, {"command": "ready"})
    assert refused["error"]["code"] == "Invalid"
    assert (ready["pushed_digest"], ready["has_secrets"]) == ("", False)


def test_a_gate_that_could_not_get_ready_tries_again_at_the_next_knock(gate: Gate) -> None:
    """As where the file system was full for a moment."""
    work = gate.folder / "work"
    work.rename(gate.folder / "elsewhere")
    with (gate.folder / "gate/bell").open("w") as bell:
        bell.write("1\n")
    until(lambda: "work/next" in gate.log.read_text(encoding="utf-8"), "a complaint of mkdir")
    work.mkdir(mode=0o700)
    assert gate.knock(2, {"command": "ready"})[0]["home"] == "/home/nodus"


def test_the_pipes_of_whoever_comes_next_are_out_of_reach(gate: Gate) -> None:
    """Of the user people log in as: else what is asked could be read, and answered, by whoever opened them first."""
    assert sorted(path.name for path in (gate.folder / "gate").iterdir()) == ["bell"]
    assert stat.S_IMODE((gate.folder / "work").stat().st_mode) == 0o700
    assert stat.S_IMODE((gate.folder / "work/next/q").stat().st_mode) == 0o600


def test_terminals_that_were_warned_are_told_once_each(gate: Gate) -> None:
    (gate.folder / "state/warned").write_text("pts/3\npts/0\npts/3\n", encoding="utf-8")
    assert gate.knock(1, {"command": "facts"})[0]["warned_terminals"] == ["pts/0", "pts/3"]
