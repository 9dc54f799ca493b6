"""A ``tick`` that finds nothing due: near the bare imports it needs, and linear in Workspaces at rest and in machines that run.

Each pass is a process of its own, as cron starts it, and processor time is what counts: on a busy computer the time on the wall says
nothing about work. What objects add is the median, over rounds, of the difference within one round. Beside it, in turns, a Python
imports exactly the modules that pass was seen to load, and does nothing with them. All of them find their bytecode where an installed
program has it.

Workspaces at rest each have an opening of their own in another century, in a project that also has a provider with real time: then the
clock is the computer's and a pass has no need of any plugin. Machines that run are looked at by every pass, so that one needs the executor,
the plugin and the database toolkit as well.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

Line = Callable[[str, float, float, str], None]

MOST_IMPORTS = 1.5
"""A pass may take this many times what its imports take."""
MOST_GROWTH = 12.0
"""Ten times the objects may take this many times as long, start-up aside, before it no longer counts as linear."""
AT_REST, THAT_RUN = (10, 1_000, 10_000), (10, 300, 3_000)
_ROUNDS, _IN_A_FILE = 7, 1_000
_SEEN = """import runpy, sys
try:
    runpy.run_module("nodusctl", run_name="__main__")
except SystemExit:
    pass
print(*(name for name, module in sys.modules.items() if name == getattr(getattr(module, "__spec__", None), "name", "")), file=sys.stderr)
"""
_WORKSPACE = """apiVersion: nodus.dev/v1
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
_OPENING = '  schedule: {{readyBy: "{ready_by:%Y-%m-%dT%H:%M:%SZ}", stopAt: "{stop_at:%Y-%m-%dT%H:%M:%SZ}"}}\n'
_FIRST = datetime(2099, 1, 1, 9, 0, tzinfo=UTC)
_RESTING = "project: bench\nproviders:\n  sim: {type: simulated}\n  local: {type: local}\n"
_RUNNING = "project: bench\nproviders:\n  sim: {type: simulated}\n"


def ticking(line: Line, scratch: Path) -> None:
    """``line`` gets what was measured, seconds, the limit and words beside it."""
    passes = Passes(scratch / "bytecode")
    resting = {number: _project(passes, scratch / f"tick-rest-{number}", _RESTING, number, at_rest=True) for number in AT_REST}
    _measure(line, passes, "at rest", resting, "Nothing is due.")
    running = {number: _project(passes, scratch / f"tick-run-{number}", _RUNNING, number, at_rest=False) for number in THAT_RUN}
    _measure(line, passes, "that run", running, "Nothing is due; {number} objects looked at.")


def _measure(line: Line, passes: Passes, what: str, folders: dict[int, Path], said: str) -> None:
    few, some, many = folders
    for number, folder in folders.items():
        passes.make(folder, said.format(number=number))
    modules = passes.modules(folders[few])
    rounds, bare = [], float("inf")
    for _ in range(_ROUNDS):
        bare = min(bare, passes.imports(modules))
        rounds.append({number: passes.make(folder, said.format(number=number)) for number, folder in folders.items()})
    took = {number: min(one[number] for one in rounds) for number in folders}
    beside = f"{took[few] / bare:.2f} x the bare imports of its {len(modules)} modules, {bare * 1000:.0f} ms"
    line(f"idle tick, {few} Workspaces {what}", took[few], bare * MOST_IMPORTS, beside)
    grown, growing = (median(one[number] - one[few] for one in rounds) for number in (many, some))
    beside = f"{grown / (many - few) * 1_000_000:.0f} µs a Workspace; {grown / growing:.1f} x that of {some:,}, start-up aside"
    line(f"idle tick, {many:,} Workspaces {what}", took[few] + grown, took[few] + growing * MOST_GROWTH, beside)


class Passes:
    """Processes that find bytecode in a folder of their own; each answers with its processor seconds."""

    def __init__(self, bytecode: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._environment = {**kept, "PYTHONPYCACHEPREFIX": str(bytecode), "NODUSCTL_STATE_KEY": "a key for benchmarks only"}

    def make(self, folder: Path, said: str) -> float:
        """One pass over the project in ``folder``; RuntimeError where it says anything else than ``said``."""
        took, ran = self._run("-m", "nodusctl", "--chdir", str(folder), "tick")
        if ran.returncode != 0 or ran.stdout.strip() != said:
            raise RuntimeError(f"tick said {ran.stdout[-300:]!r} {ran.stderr[-300:]!r}, not {said!r}; the benchmark means nothing")
        return took

    def modules(self, folder: Path) -> tuple[str, ...]:
        """What a pass has loaded at its end, in the order in which it began to."""
        _, ran = self._run("-c", _SEEN, "--chdir", str(folder), "tick")
        return tuple(ran.stderr.split())

    def imports(self, modules: Sequence[str]) -> float:
        """To import ``modules`` and nothing else."""
        took, ran = self._run("-c", f"import importlib\nfor name in {list(modules)!r}:\n    importlib.import_module(name)")
        if ran.returncode != 0:
            raise RuntimeError(f"the imports said {ran.stderr[-300:]!r}; the benchmark means nothing")
        return took

    def must(self, folder: Path, *words: str) -> None:
        """A command that has to end well."""
        _, ran = self._run("-m", "nodusctl", "--chdir", str(folder), *words)
        if ran.returncode != 0:
            raise RuntimeError(f"{words} said {ran.stderr[-300:]!r}; the benchmark means nothing")

    def _run(self, *words: str) -> tuple[float, subprocess.CompletedProcess[str]]:
        before = _processor_seconds()
        ran = subprocess.run([sys.executable, *words], check=False, capture_output=True, text=True, env=self._environment)
        return _processor_seconds() - before, ran


def _processor_seconds() -> float:
    """Of all processes this one has started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _project(passes: Passes, folder: Path, settings: str, number: int, *, at_rest: bool) -> Path:
    """A project with ``number`` Workspaces, applied."""
    folder.mkdir()
    (folder / "nodusctl.yaml").write_text(settings, encoding="utf-8")
    for first in range(0, number, _IN_A_FILE):
        documents = [_document(one, at_rest=at_rest) for one in range(first, min(first + _IN_A_FILE, number))]
        (folder / f"part-{first:05d}.yaml").write_text("---\n".join(documents), encoding="utf-8")
    passes.must(folder, "apply", "--yes")
    return folder


def _document(number: int, *, at_rest: bool) -> str:
    ready_by = _FIRST + timedelta(minutes=number)
    opening = _OPENING.format(ready_by=ready_by, stop_at=ready_by + timedelta(hours=8))
    return _WORKSPACE.format(number=number) + (opening if at_rest else "")
