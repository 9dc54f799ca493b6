"""How long a Workspace takes to its first ssh and to JupyterLab's first 200, beside the same programs started by hand in the same run.

Both are in an equal sandbox with the same configuration (``by_hand.py``) and may use the whole computer; one is started after the other, so
that both meet the same load, and the best of some rounds counts. ``start`` runs in this process, as it does under a ticker or a server:
starting Python is measured by itself, in ``start_up``. To the first ssh means ``start`` and then a login; to the first 200 means ``start``,
which ends when every tool has answered.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from support.local_project import SSHD_IS_HERE, LocalProject

from nodusctl.base.exits import ExitCode
from nodusctl.cli.main import run
from nodusctl.cli.surroundings import Surroundings
from tests.benchmarks.by_hand import Mould

Line = Callable[[str, float, float, str], None]

_ALLOWED_SHARE, _ALLOWED_SECONDS = 1.15, 1.0


def starting(line: Line, scratch: Path, rounds: int = 3) -> None:
    """``line`` gets what was measured, seconds, the limit (15 % or one second above by hand) and words beside it."""
    if not SSHD_IS_HERE or importlib.util.find_spec("jupyterlab") is None:
        print("Workspace starts are not measured: sshd and jupyterlab are needed", flush=True)
        return
    for what, tools in (("ssh", "SSH"), ("JupyterLab's 200", "SSH, Jupyter")):
        ours, theirs = _measured(scratch / f"start-{len(tools)}", tools, rounds)
        limit = max(theirs * _ALLOWED_SHARE, theirs + _ALLOWED_SECONDS)
        line(f"Workspace start to {what}", ours, limit, f"by hand {theirs * 1000:.0f} ms: {ours / theirs:.2f} x, {ours - theirs:+.2f} s")


def _measured(folder: Path, tools: str, rounds: int) -> tuple[float, float]:
    """The least seconds of the Workspace, and of the same by hand."""
    project = LocalProject(folder, tools=tools).write()
    lab = project.project / "lab.yaml"
    lab.write_text(lab.read_text().replace("cpu: 1, memory: 512Mi", f"cpu: {os.cpu_count()}, memory: 1Gi"))
    has_browser_tool = "Jupyter" in tools
    with own_folders(project):
        try:
            must(project, "apply", "--yes")
            machine = _machine_in(folder)
            mould = Mould.of(machine, next(folder.rglob("id_ed25519")), folder / "by-hand")
            both = [_round(mould, has_browser_tool, project) for _ in range(rounds)]
            return min(ours for ours, _ in both), min(theirs for _, theirs in both)
        finally:
            in_this_process(project, "destroy", "workspace/lab", "--yes")


def _round(mould: Mould, has_browser_tool: bool, project: LocalProject) -> tuple[float, float]:
    must(project, "stop", "lab")
    theirs = mould.seconds()[has_browser_tool]
    began = time.perf_counter()
    must(project, "start", "lab")
    if not has_browser_tool:
        door = json.loads((_machine_in(project.folder) / "run" / "door.json").read_text())
        subprocess.run(mould.login(int(door["port"])), check=True, stdin=subprocess.DEVNULL)
    return time.perf_counter() - began, theirs


def _machine_in(folder: Path) -> Path:
    return next((folder / "data").rglob("machine.json")).parent


@contextlib.contextmanager
def own_folders(project: LocalProject) -> Iterator[None]:
    """A user's folders of their own for what runs in this process, too."""
    own = {name: value for name, value in project.environment.items() if name.startswith("XDG_")}
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def in_this_process(project: LocalProject, *words: str) -> tuple[ExitCode, str]:
    """One command with a user's environment; its exit code and what it printed."""
    printed = io.StringIO()
    around = Surroundings(
        environment=project.environment,
        arguments=words,
        folder=project.project,
        stdin=io.StringIO(),
        stdout=printed,
        stderr=printed,
    )
    return run(around), printed.getvalue()


def must(project: LocalProject, *words: str) -> None:
    code, printed = in_this_process(project, *words)
    if code is not ExitCode.DONE:
        raise RuntimeError(f"{' '.join(words)} did not finish; the benchmark means nothing\n{printed}")
