"""A command is killed with -9 in every gap between its steps, and the same command is given again to a fresh process.

Whatever the gap: the work is finished, an Attempt never had two machines, no home and no cent is lost, and a removal afterwards leaves
nothing. ``killing.py`` does the killing; two lanes share the gaps.
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
FEWEST_GAPS = 14
HERE = Path(__file__).parent
NO_SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None


def lanes(provider: str, folder: Path) -> list[dict[str, Any]]:
    """What each lane reports."""
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    running = []
    for lane in range(LANES):
        place = folder / f"lane-{lane}"
        place.mkdir()
        words = [sys.executable, str(HERE / "killing.py"), provider, str(lane), str(LANES), str(place)]
        running.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment))
    ended = [(process.communicate(timeout=1800), process.returncode) for process in running]
    for (_, errors), code in ended:
        assert code == 0, errors
    return [json.loads(output) for (output, _), _ in ended]


def check(reports: list[dict[str, Any]]) -> None:
    assert [fault for report in reports for fault in report["faults"]] == []
    for report in reports:
        assert min(report["gaps"].values()) >= FEWEST_GAPS, "the fuse no longer sees what the executor does"


@pytest.mark.slow
def test_simulated(tmp_path: Path) -> None:
    """In a simulated world every run is the same, so every child dies in its gap."""
    reports = lanes("simulated", tmp_path / "lanes")
    check(reports)
    assert [report["deaths"] for report in reports] == [report["wanted"] for report in reports]


@pytest.mark.slow
@pytest.mark.local
@pytest.mark.skipif(NO_SSHD, reason="sshd is not installed")
def test_local(tmp_path: Path) -> None:
    """With real processes a second question may not be needed, and then nobody dies before it; nearly all do."""
    reports = lanes("local", tmp_path / "lanes")
    check(reports)
    deaths, wanted = (sum(report[key] for report in reports) for key in ("deaths", "wanted"))
    assert deaths >= wanted * 0.9
