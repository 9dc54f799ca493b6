"""``receipts --verify`` over 10,000 and 100,000 Attempts: the sum must be exact, and ten times the Attempts may take 13 times as long.

Each runs in a process of its own, so that its memory is its own too, and processor time is what counts: on a busy computer the time on the
wall says nothing about how the work grows.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from support.history import multiply_history, write_history

_LINEAR = 13
_MOST_SECONDS = 30.0
_SMALL, _TIMES = 10_000, 10


def verifying(line: Callable[[str, float, float, str], None], scratch: Path) -> None:
    """``line`` gets what was measured, seconds, the limit and words beside it."""
    small = _project(scratch / "verify-small")
    charged = write_history(small / ".nodus" / "state.db", _SMALL)
    large = _project(scratch / "verify-large")
    shutil.copy(small / ".nodus" / "state.db", large / ".nodus" / "state.db")
    multiply_history(large / ".nodus" / "state.db", _TIMES)
    took, words = _verified(small, f"{_SMALL} receipts verified, {charged.shown}.")
    line(f"receipts --verify, {_SMALL:,} attempts", took, _MOST_SECONDS, f"{took / _SMALL * 1000:.2f} ms an attempt, {words}")
    many, count = took * _LINEAR, _SMALL * _TIMES
    took_large, words = _verified(large, f"{count} receipts verified, {(charged * _TIMES).shown}.")
    beside = f"{took_large / took:.1f} x the time for {_TIMES} x the attempts, {words}"
    line(f"receipts --verify, {count:,} attempts", took_large, many, beside)


def _project(folder: Path) -> Path:
    (folder / ".nodus").mkdir(parents=True)
    (folder / "nodusctl.yaml").write_text("project: bench\n", encoding="utf-8")
    return folder


def _verified(folder: Path, last_line: str) -> tuple[float, str]:
    """Processor seconds, and the most memory any process of this benchmark has used so far."""
    environment = {**os.environ, "NODUSCTL_STATE_KEY": "a key for benchmarks only"}
    words = [sys.executable, "-m", "nodusctl", "--chdir", str(folder), "receipts", "--verify"]
    before = _processor_seconds()
    ran = subprocess.run(words, check=False, capture_output=True, text=True, env=environment)
    took = _processor_seconds() - before
    if ran.returncode != 0 or ran.stdout.splitlines()[-1:] != [last_line]:
        raise RuntimeError(f"verification said {ran.stdout[-300:]!r} {ran.stderr[-300:]!r}, not {last_line!r}; the benchmark means nothing")
    return took, f"at most {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB"


def _processor_seconds() -> float:
    """Of all processes this one has started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
