"""A command is killed with -9 in every gap between its steps, and the same command is given again to a fresh process.

Whatever the gap: the work is finished, an Attempt never had two machines, no home and no cent is lost, and a removal afterwards leaves
nothing. ``killing.py`` does the killing; two lanes share the gaps of one command.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LANES = 2
HERE = Path(__file__).parent
NO_SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None


def lanes(provider: str, command: str, folder: Path) -> list[dict[str, Any]]:
    """What each lane reports."""
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    running = []
    for lane in range(LANES):
        place = folder / f"lane-{lane}"
        place.mkdir()
        words = [sys.executable, str(HERE / "killing.py"), provider, command, str(lane), str(LANES), str(place)]
        running.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment))
    ended = [(process.communicate(timeout=1200), process.returncode) for process in running]
    for (_, errors), code in ended:
        assert code == 0, errors
    return [json.loads(output) for (output, _), _ in ended]


def check(reports: list[dict[str, Any]], fewest_gaps: int) -> None:
    assert [fault for report in reports for fault in report["faults"]] == []
    assert all(report["gaps"] >= fewest_gaps for report in reports), "the fuse no longer sees what the executor does"


@pytest.mark.slow
@pytest.mark.parametrize(("command", "fewest_gaps"), [("create", 30), ("stop", 20), ("delete", 20)])
def test_simulated(command: str, fewest_gaps: int, tmp_path: Path) -> None:
    """In a simulated world every run is the same, so every child dies in its gap."""
    reports = lanes("simulated", command, tmp_path / "lanes")
    check(reports, fewest_gaps)
    assert [report["killed"] for report in reports] == [report["share"] for report in reports]


@pytest.mark.slow
@pytest.mark.local
@pytest.mark.skipif(NO_SSHD, reason="sshd is not installed")
@pytest.mark.parametrize(("command", "fewest_gaps"), [("create", 30), ("stop", 20), ("delete", 20)])
def test_local(command: str, fewest_gaps: int, tmp_path: Path) -> None:
    """With real processes a gap between two questions may not come up again; nearly all do."""
    reports = lanes("local", command, tmp_path / "lanes")
    check(reports, fewest_gaps)
    killed, share = (sum(report[key] for report in reports) for key in ("killed", "share"))
    assert killed >= share * 0.9
