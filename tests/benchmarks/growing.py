"""How ``apply`` grows: of Workspaces that have a home each, under a Budget that selects them all, one of many costs what one of some does.

Counted is the processor time of this process, the least of a few runs, because a busy computer makes everything wait. What a command costs
once is left out: each cost is the difference of two sizes.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from nodusctl.base.exits import ExitCode

Command = Callable[..., ExitCode]
Project = Callable[[Path, int], Path]
LEAST, SOME, MANY = 50, 150, 450
LIMIT_SECONDS = 0.020
MOST_GROWTH = 1.5
"""An object among many may cost this many times as much as one among some before it no longer counts as linear."""
TIMES = 2
BUDGET = """apiVersion: nodus.dev/v1
kind: Budget
metadata: {name: team}
spec: {limitUSD: "100000.00", scope: {selector: {matchLabels: {team: bench}}}}
"""
HOME = """apiVersion: nodus.dev/v1
kind: Volume
metadata: {{name: home-{name}, labels: {{team: bench}}}}
spec: {{size: 10Gi}}
"""


def growing(
    line: Callable[[str, float, float, str], None],
    count: Callable[[str, float, float, str], None],
    command: Command,
    project: Project,
    scratch: Path,
) -> None:
    """``line`` gets what one of many costs, ``count`` how often that of one of some."""
    took = {number: min(_applied(command, project, scratch / f"homes-{number}", number) for _ in range(TIMES)) for number in _SIZES}
    among_some = (took[SOME] - took[LEAST]) / (SOME - LEAST)
    among_many = (took[MANY] - took[SOME]) / (MANY - SOME)
    beside = ", ".join(f"{number} {seconds:.2f} s" for number, seconds in took.items())
    line("apply, a Workspace with its home, of many", among_many, LIMIT_SECONDS, f"CPU: {beside}")
    count("apply, one of many against one of some", among_many / among_some, MOST_GROWTH, "x")


_SIZES = (LEAST, SOME, MANY)


def _applied(command: Command, project: Project, folder: Path, number: int) -> float:
    shutil.rmtree(folder, ignore_errors=True)
    _with_homes(project(folder, number))
    began = time.process_time()
    if command(folder, "apply", "--yes") is not ExitCode.DONE:
        raise RuntimeError("apply did not finish; the benchmark means nothing")
    return time.process_time() - began


def _with_homes(folder: Path) -> None:
    """Give each Workspace a Volume of its own, and all a Budget."""
    for part in folder.glob("part-*.yaml"):
        workspaces = part.read_text(encoding="utf-8").split("---\n")
        names = [text.partition("name: ")[2].partition(",")[0] for text in workspaces]
        kept = [text.replace("ephemeral: true", f"volume: home-{name}") for text, name in zip(workspaces, names, strict=True)]
        part.write_text("---\n".join([*kept, *(HOME.format(name=name) for name in names)]), encoding="utf-8")
    (folder / "budget.yaml").write_text(BUDGET, encoding="utf-8")
