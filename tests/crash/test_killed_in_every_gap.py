"""A command is killed with -9 in every gap between its steps, and the same command is given again to a fresh process.

Whatever the gap: the work is finished, an Attempt never had two machines, no home and no cent is lost, and a removal afterwards leaves
nothing. What a gap is, and which are the same one, is said in ``gaps.py``; ``killing.py`` does the killing, ``checking.py`` looks. Every
gap that a run without a kill comes by has a child that died in it, with a file to prove that it was there: a gap that nobody died in fails
the test. Two processes share the gaps.
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
TOUCHING_TOOLS = ("push", "secrets", "quiesce", "release")
"""Words of a gap's deed: what starts tools, asks them, or ends them."""
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
    """Every gap once. A create and a delete share a life; a stop has one of its own."""
    pairs = zip_longest(gaps["create"], gaps["delete"])
    lives = [[("create", create_at), ("delete", delete_at)] for create_at, delete_at in pairs]
    return [*lives, *([("create", None), ("stop", stop_at), ("delete", None)] for stop_at in gaps["stop"])]


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
    """With every tool there is, where a tool is about to start, starts, runs or is being ended."""
    tools = "SSH,Jupyter,VSCode"
    gaps = gaps_of("local", tools, tmp_path / "gaps")
    chosen = {command: [gap for gap in gaps[command] if any(word in gap[0] for word in TOUCHING_TOOLS)] for command in gaps}
    assert all(len(found) >= 2 for found in chosen.values())
    live("local", tools, lives_of({**chosen, "delete": []}), tmp_path)
