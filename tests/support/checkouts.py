"""Several checkouts of one project with one state: laptops of colleagues, a CI job, cron. Every command is a process of its own.

They share one simulated cloud, as they would share an account: what is its database lies in the first checkout, and the others link to it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.commands import NOW, STATE_KEY

PROJECT = 'project: lab\nstate: "{url}"\nproviders:\n  sim: {{type: simulated, world: world.yaml}}\n'


def workspace(name: str, **spec: str) -> str:
    """A small ephemeral Workspace."""
    more = "".join(f"  {key}: {value}\n" for key, value in spec.items())
    return (
        f"apiVersion: nodus.dev/v1\nkind: Workspace\nmetadata: {{name: {name}}}\nspec:\n  image: nodus/workspace-cpu\n"
        f"  resources: {{cpu: 4, memory: 16Gi}}\n  ephemeral: true\n  tools: [SSH]\n  idleTimeout: 1h\n{more}"
    )


@dataclass(frozen=True)
class Ended:
    """How a process ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What it said with ``--json``."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(frozen=True)
class Running:
    """A process under way."""

    process: subprocess.Popen[str]

    def end(self, seconds: float = 120) -> Ended:
        """Wait for it."""
        out, err = self.process.communicate(timeout=seconds)
        return Ended(self.process.returncode, out, err)


@dataclass
class Checkout:
    """One of them; ``environment`` is its person's own, with a data folder apart."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def begin(self, *words: str) -> Running:
        """Start a command."""
        process = subprocess.Popen(
            [sys.executable, "-m", "nodusctl", *words],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return Running(process)

    def __call__(self, *words: str) -> Ended:
        """Run a command."""
        return self.begin(*words).end()

    def good(self, *words: str) -> Ended:
        """Run a command that must go well."""
        ended = self(*words)
        assert ended.code == 0, ended.out + ended.err
        return ended

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        (self.folder / name).write_text(text, encoding="utf-8")


def checkouts(root: Path, url: str, *names: str, key: str = STATE_KEY) -> tuple[Checkout, ...]:
    """One for each name, all with the state at ``url``; with an empty ``key`` each person has keys of their own."""
    made = []
    for name in names:
        folder = root / name / "lab"
        (folder / ".nodus").mkdir(parents=True)
        environment = {f"XDG_{kind}_HOME": str(root / name / kind.lower()) for kind in ("DATA", "STATE", "CACHE", "CONFIG")}
        checkout = Checkout(folder, {**environment, **({"NODUSCTL_STATE_KEY": key} if key else {})})
        checkout.write("nodusctl.yaml", PROJECT.format(url=url))
        made.append(checkout)
    first = made[0]
    first.good("sim", "init", "--now", NOW)
    for other in made[1:]:
        (other.folder / ".nodus/sim").symlink_to(first.folder / ".nodus/sim")
        other.write("world.yaml", (first.folder / "world.yaml").read_text())
    return tuple(made)
