"""``make bench``: what must stay fast, measured in one run and printed as ratios, because a busy computer is slow at everything.

Limits are those of the project: help and version under 300 ms, validating and planning 1,000 objects under 3 s, planning 10,000 in linear
time and a gigabyte, applying under 20 ms an object on the simulated provider with the state saved each time, few or many, verifying
receipts in time that grows with their number, a tick with nothing due near its bare imports and linear. The exit code is 1 where a limit
is missed.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from nodusctl.base.exits import ExitCode
from nodusctl.cli.main import run
from nodusctl.cli.surroundings import Surroundings
from tests.benchmarks.applying import applying
from tests.benchmarks.classroom import classroom
from tests.benchmarks.growing import growing
from tests.benchmarks.scale import scaling
from tests.benchmarks.starting import starting
from tests.benchmarks.ticking import ticking
from tests.benchmarks.verifying import verifying
from tests.benchmarks.virtual_machines import virtual_machines

PROJECT = "project: bench\nproviders:\n  sim: {type: simulated, world: world.yaml}\n"
OBJECT = """apiVersion: nodus.dev/v1
kind: Workspace
metadata: {{name: ws-{number:05d}, labels: {{team: bench}}}}
spec:
  image: nodus/workspace-cpu
  resources: {{cpu: 4, memory: 16Gi}}
  ephemeral: true
  tools: [SSH]
  idleTimeout: 1h
  maxCostUSD: "5.00"
"""
FILES = 20


def seconds(act: Callable[[], object], times: int = 1) -> float:
    """The best of ``times``: the least disturbed one."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        act()
        best = min(best, time.perf_counter() - start)
    return best


def python(*words: str) -> Callable[[], object]:
    """Run this Python in a process of its own."""
    return lambda: subprocess.run([sys.executable, *words], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def nodusctl(folder: Path, *words: str) -> ExitCode:
    """One command in this process; what it prints is thrown away."""
    around = Surroundings(
        environment={"NODUSCTL_STATE_KEY": "a key for benchmarks only"},
        arguments=words,
        folder=folder,
        stdin=io.StringIO(),
        stdout=io.StringIO(),
        stderr=io.StringIO(),
    )
    return run(around)


def project(folder: Path, count: int) -> Path:
    """A project of ``count`` Workspaces in a few files."""
    folder.mkdir()
    (folder / "nodusctl.yaml").write_text(PROJECT, encoding="utf-8")
    each = max(1, count // FILES)
    for first in range(0, count, each):
        documents = [OBJECT.format(number=number) for number in range(first, min(first + each, count))]
        (folder / f"part-{first:05d}.yaml").write_text("---\n".join(documents), encoding="utf-8")
    return folder


class Report:
    """Lines as they are measured, and whether any limit was missed."""

    def __init__(self) -> None:
        self.has_missed = False

    def line(self, what: str, took: float, limit: float, beside: str = "") -> None:
        """One measurement: milliseconds, its share of the limit, and a ratio to something else of this run."""
        is_over = took > limit
        self.has_missed = self.has_missed or is_over
        mark = "OVER" if is_over else "ok"
        print(f"{what:<44} {took * 1000:>9.1f} ms  {took / limit:>5.2f} of {limit * 1000:.0f} ms  {mark:<4}  {beside}", flush=True)

    def count(self, what: str, number: float, limit: float, unit: str) -> None:
        """Something that isn't time."""
        is_over = number > limit
        self.has_missed = self.has_missed or is_over
        print(f"{what:<44} {number:>9.1f} {unit:<3} {number / limit:>5.2f} of {limit:g} {unit}  {'OVER' if is_over else 'ok'}", flush=True)


def start_up(report: Report) -> None:
    """``version`` and ``--help`` against bare Python and bare imports."""
    bare = seconds(python("-c", "pass"), 5)
    imports = seconds(python("-c", "import typer"), 5)
    for words in (("version",), ("--help",)):
        took = seconds(python("-m", "nodusctl", *words), 5)
        report.line(f"nodusctl {words[0]}", took, 0.3, f"{took / bare:.1f} x bare Python, {took / imports:.1f} x `import typer`")


def reading(report: Report, scratch: Path) -> None:
    """``validate`` and ``plan`` of 10 and of 1,000 objects."""
    took: dict[tuple[str, int], float] = {}
    for count in (10, 1000):
        folder = project(scratch / f"plan-{count}", count)
        for command in ("validate", "plan"):
            took[command, count] = seconds(lambda folder=folder, command=command: nodusctl(folder, command), 2)  # type: ignore[misc]
    for count in (10, 1000):
        both = took["validate", count] + took["plan", count]
        per = took["plan", count] / count * 1000
        report.line(f"validate + plan, {count} objects", both, 3.0, f"plan alone {per:.2f} ms an object")
    growth = took["plan", 1000] / took["plan", 10]
    print(f"{'':<44} 100 times the objects take {growth:.0f} times as long to plan")


def main() -> int:
    """1 where a limit is missed."""
    report = Report()
    with tempfile.TemporaryDirectory(prefix="nodusctl-bench-") as scratch:
        start_up(report)
        reading(report, Path(scratch))
        scaling(report.line, report.count, project, Path(scratch))
        applying(report.line, nodusctl, project, Path(scratch))
        growing(report.line, report.count, nodusctl, project, Path(scratch))
        verifying(report.line, Path(scratch))
        ticking(report.line, Path(scratch))
        starting(report.line, Path(scratch))
        classroom(report.line, Path(scratch))
        virtual_machines(report.line, Path(scratch))
    return 1 if report.has_missed else 0


if __name__ == "__main__":
    sys.exit(main())
