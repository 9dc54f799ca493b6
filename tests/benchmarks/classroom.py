"""Twenty local Workspaces at once: ``examples/classroom`` on this computer's own provider, with ssh only.

Measured are the plan, the apply until all are Running, what they cost this computer while nobody uses them, and the removal, after which
nothing of them may run. That each really lets its person in is tried by a login to every one.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from support.local_project import SSHD_IS_HERE, LocalProject
from support.local_world import processes_of

from tests.benchmarks.starting import must, own_folders

Line = Callable[[str, float, float, str], None]

EXAMPLE = Path(__file__).parents[2] / "examples" / "classroom"
COUNT = 20
_START_LIMIT_SECONDS = 2.0
_REMOVAL_LIMIT_SECONDS = 1.5
_PLAN_LIMIT_SECONDS = 3.0
_END_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Use:
    """What the machines use together. ``memory_bytes`` counts shared pages by share (PSS)."""

    processes: int
    memory_bytes: int


def classroom(line: Line, scratch: Path) -> None:
    """``line`` gets what was measured, seconds, the limit and words beside it. RuntimeError where anything of it didn't work."""
    if not SSHD_IS_HERE:
        print("twenty local Workspaces are not measured: sshd is needed", flush=True)
        return
    project = _project(scratch / "classroom")
    with own_folders(project):
        try:
            line(f"plan of {COUNT} local Workspaces", _seconds(project, "plan"), _PLAN_LIMIT_SECONDS, "")
            took = _seconds(project, "apply", "--yes")
            machines = _machines(project)
            if len(machines) != COUNT or not all(_lets_in(project, machine) for machine in machines):
                raise RuntimeError(f"{len(machines)} machines, and not every one lets its person in")
            use = _use(project, machines)
            beside = f"{took / COUNT:.2f} s each; {use.processes} processes, {use.memory_bytes / 2**20:.0f} MiB in all"
            line(f"apply until {COUNT} are Running", took, COUNT * _START_LIMIT_SECONDS, beside)
        finally:
            took = _seconds(project, "destroy", "--yes")
        left = _left(project, machines)
        if left:
            raise RuntimeError(f"after the removal there still run: {left}")
        line(f"destroy of {COUNT}, until nothing runs", took, COUNT * _REMOVAL_LIMIT_SECONDS, f"{took / COUNT:.2f} s each")


def _project(folder: Path) -> LocalProject:
    """The example with this computer instead of the simulated cloud."""
    project = LocalProject(folder).write()
    (project.project / "lab.yaml").unlink()
    for name in ("budget.yaml", "students.yaml"):
        text = (EXAMPLE / name).read_text(encoding="utf-8").replace("cpu: 4, memory: 16Gi", "cpu: 1, memory: 512Mi")
        (project.project / name).write_text(text, encoding="utf-8")
    return project


def _seconds(project: LocalProject, *words: str) -> float:
    began = time.perf_counter()
    must(project, *words)
    return time.perf_counter() - began


def _machines(project: LocalProject) -> list[Path]:
    return sorted(record.parent for record in (project.folder / "data").rglob("machines/m-*/machine.json"))


def _lets_in(project: LocalProject, machine: Path) -> bool:
    """A command over ssh with the person's key; whichever host key is shown is not the question here."""
    door, boot = (json.loads((machine / name).read_text()) for name in ("run/door.json", "boot.json"))
    key = next(project.folder.rglob("id_ed25519"))
    words = ["ssh", "-F", "none", "-i", str(key), "-p", str(door["port"]), "-l", boot["user"], "-o", "BatchMode=yes"]
    words += ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "127.0.0.1", "echo in"]
    return subprocess.run(words, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout == "in\n"


def _use(project: LocalProject, machines: list[Path]) -> Use:
    pids = [line.split()[0] for line in processes_of(project.folder, [machine.name for machine in machines])]
    with ThreadPoolExecutor() as readers:
        return Use(len(pids), sum(readers.map(_memory_bytes, pids)))


def _memory_bytes(pid: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _left(project: LocalProject, machines: list[Path]) -> list[str]:
    deadline = time.monotonic() + _END_SECONDS
    while (left := processes_of(project.folder, [machine.name for machine in machines])) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left
