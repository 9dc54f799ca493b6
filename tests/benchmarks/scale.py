"""How a plan grows: 10,000 objects take ten times as long as 1,000, and fit into a gigabyte. Each is planned by a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

Project = Callable[[Path, int], Path]
FEW, MANY = 1_000, 10_000
MOST_GROWTH = 12.0
"""Ten times the objects may take this many times as long before it no longer counts as linear."""
MOST_MEBIBYTES = 1024.0


def scaling(
    line: Callable[[str, float, float, str], None], count: Callable[[str, float, float, str], None], project: Project, scratch: Path
) -> None:
    """``line`` gets the time of many, ``count`` the growth and the peak memory."""
    start, _ = _apart("version")
    took, peak = {}, {}
    for number in (FEW, MANY):
        folder = project(scratch / f"scale-{number}", number)
        took[number], peak[number] = _apart("--chdir", str(folder), "plan")
    growth = (took[MANY] - start) / (took[FEW] - start)
    line(f"plan, {MANY:,} objects", took[MANY], took[FEW] * MOST_GROWTH, f"{FEW:,} objects {took[FEW]:.2f} s")
    count(f"plan, {MANY:,} objects against {FEW:,}, without start", growth, MOST_GROWTH, "x")
    count(f"plan, {MANY:,} objects, peak memory", peak[MANY] / 2**20, MOST_MEBIBYTES, "MiB")


def _apart(*words: str) -> tuple[float, int]:
    """Seconds and peak resident bytes of a command in a process of its own."""
    began = time.perf_counter()
    running = subprocess.Popen([sys.executable, "-m", "nodusctl", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {running.returncode}; the benchmark means nothing")
    # Linux counts in KiB, macOS in bytes.
    return time.perf_counter() - began, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
