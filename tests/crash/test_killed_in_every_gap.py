"""A command is killed with -9 in every gap between its steps, and the same command is given again to a fresh process.

Whatever the gap: the work is finished, an Attempt never had two machines, no home and no cent is lost, and a removal afterwards leaves
nothing. What a gap is, and which are the same one, is said in ``gaps.py``; ``killing.py`` does the killing, ``checking.py`` looks. Every
gap that a run without a kill comes by has a child that died in it, with a file to prove that it was there: a gap that nobody died in fails
the test.

Polls are repeated as long as a computer takes, so of each poll of a real one the first, the second and the last are gaps, on an outside
that is made to need just these (``slowness.py``); in a simulated world every repeat is one. Two processes share the gaps.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

LANES = 2
FEWEST_GAPS = 12
HERE = Path(__file__).parent
NO_SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None
NO_JUPYTER = importlib.util.find_spec("jupyterlab") is None
LIMIT_SECONDS = 1800
ALL_TOOLS = "SSH,Jupyter,VSCode"
Gaps = dict[str, list[list[Any]]]


def started(*words: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(HERE.parent), os.environ.get("PYTHONPATH", "")))}
    command = [sys.executable, str(HERE / "killing.py"), *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def reported(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, errors = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 0, errors
    return dict(json.loads(output))


def gaps_of(provider: str, tools: str, folder: Path) -> Gaps:
    """Of each command, the gaps it comes by."""
    folder.mkdir()
    found = reported(started("list", provider, tools, folder))
    del found["seconds"]
    assert min(map(len, found.values())) >= FEWEST_GAPS, "the fuse no longer sees what the executor does"
    return found


def lives_of(gaps: Gaps) -> list[list[Any]]:
    """Every gap once: each stop and each delete in a life of its own, the creates spread over these."""
    ends: list[list[Any]] = [[("stop", gap), ("delete", None)] for gap in gaps["stop"]]
    ends += [[("delete", gap)] for gap in gaps["delete"]]
    pairs = zip_longest(gaps["create"], ends)
    return [[("create", create_at), *(end or [("delete", None)])] for create_at, end in pairs]


def with_machine(command: str, gaps: list[list[Any]]) -> list[list[Any]]:
    """Those from the launch on, or until somebody has written down that the machine is gone."""
    if command == "create":
        return gaps[[deed for deed, *_ in gaps].index("launch") + 1 :]
    last = max(at for at, (deed, *_) in enumerate(gaps) if deed.startswith("commit of release done"))
    return gaps[: last + 1]


def live(provider: str, tools: str, lives: list[list[Any]], folder: Path) -> None:
    """Live them all; every child must have died in its gap, and all must be well afterwards."""
    running = []
    for lane in range(LANES):
        place = folder / f"lane-{lane}"
        place.mkdir()
        (place / "lives.json").write_text(json.dumps(lives[lane::LANES]))
        running.append(started("live", provider, tools, place, place / "lives.json"))
    reports = [reported(process) for process in running]
    assert [fault for report in reports for fault in report["faults"]] == []
    assert [gap for report in reports for gap in report["missed"]] == [], "nobody died there"


@pytest.mark.slow
def test_simulated(tmp_path: Path) -> None:
    """In a simulated world, where each repeat is a gap of its own."""
    gaps = gaps_of("simulated", "SSH", tmp_path / "gaps")
    live("simulated", "SSH", lives_of(gaps), tmp_path)


@pytest.mark.slow
@pytest.mark.local
@pytest.mark.skipif(NO_SSHD, reason="sshd is not installed")
def test_local(tmp_path: Path) -> None:
    """With real processes, real ssh and real files."""
    gaps = gaps_of("local", "SSH", tmp_path / "gaps")
    live("local", "SSH", lives_of(gaps), tmp_path)


@pytest.mark.slow
@pytest.mark.local
@pytest.mark.skipif(NO_SSHD or NO_JUPYTER, reason="sshd and jupyterlab are needed")
def test_local_with_all_tools(tmp_path: Path) -> None:
    """With every tool there is, in every gap in which there may be a machine: without one there are no tools, and it is ``test_local``'s.

    VSCode is served to a desktop, and in the browser too where code-server is installed.
    """
    gaps = {command: with_machine(command, found) for command, found in gaps_of("local", ALL_TOOLS, tmp_path / "gaps").items()}
    live("local", ALL_TOOLS, lives_of(gaps), tmp_path)
