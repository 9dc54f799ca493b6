"""Running the command line in this process, as a person without a terminal, with folders of its own for everything of the user's."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nodusctl.base.exits import ExitCode
from nodusctl.cli.main import run
from nodusctl.cli.surroundings import Surroundings

STATE_KEY = "a key for tests, which guards nothing at all"
SIMULATED = "project: lab\nproviders:\n  sim: {type: simulated, world: world.yaml}\n"
NOW = "2026-10-26T07:00:00Z"
LAB = """apiVersion: nodus.dev/v1
kind: Workspace
metadata: {name: lab, labels: {team: vision}}
spec:
  image: nodus/workspace-cpu
  resources: {cpu: 4, memory: 16Gi}
  volume: lab-home
  tools: [SSH]
  idleTimeout: 1h
  maxCostUSD: "5.00"
---
apiVersion: nodus.dev/v1
kind: Volume
metadata: {name: lab-home}
spec: {size: 50Gi}
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended and what it said."""

    code: ExitCode
    out: str
    err: str


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@dataclass
class CommandLine:
    """A project folder and somebody typing commands in it."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, *words: str, stdin: str = "", on_terminal: bool = False) -> Ran:
        """Run one command."""
        make = Terminal if on_terminal else io.StringIO
        out, err = make(), make()
        around = Surroundings(
            environment={"NODUSCTL_STATE_KEY": STATE_KEY, **self.environment},
            arguments=words,
            folder=self.folder,
            stdin=make(stdin),
            stdout=out,
            stderr=err,
        )
        code = run(around)
        return Ran(code, out.getvalue(), err.getvalue())

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        (self.folder / name).write_text(text, encoding="utf-8")
