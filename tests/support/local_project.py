"""A project on this computer driven from outside, as a person's shell does it: real commands in processes of their own, real machines."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = 'project: lab\nproviders:\n  here: {{type: local, rateUSDPerHour: "0.12"{settings}}}\n'
LAB = """apiVersion: nodus.dev/v1
kind: Workspace
metadata: {{name: lab}}
spec:
  image: nodus/workspace-cpu
  resources: {{cpu: 1, memory: 512Mi}}
  volume: lab-home
  tools: [{tools}]
  maxCostUSD: "5.00"
---
apiVersion: nodus.dev/v1
kind: Volume
metadata: {{name: lab-home}}
spec: {{size: 1Gi}}
"""
SSHD_IS_HERE = shutil.which("sshd", path="/usr/sbin:/sbin:/usr/bin:" + os.environ.get("PATH", "")) is not None


@dataclass(frozen=True, slots=True)
class LocalProject:
    """``folder`` holds the project in ``project``, and a user's own folders beside it, so that nothing of yours is touched."""

    folder: Path
    tools: str = "SSH"
    settings: str = ""

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def ssh_folder(self) -> Path:
        return self.folder / "home" / ".ssh"

    @property
    def environment(self) -> dict[str, str]:
        own = {f"XDG_{name}_HOME": str(self.folder / name.lower()) for name in ("DATA", "STATE", "CACHE", "CONFIG")}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NODUSCTL_", "DISPLAY"))}
        return {**kept, **own, "HOME": str(self.folder / "home")}

    def write(self) -> LocalProject:
        for part in ("project", "home"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        settings = f", {self.settings}" if self.settings else ""
        (self.project / "nodusctl.yaml").write_text(PROJECT.format(settings=settings), encoding="utf-8")
        (self.project / "lab.yaml").write_text(LAB.format(tools=self.tools), encoding="utf-8")
        return self

    def words(self, *words: str) -> list[str]:
        return [sys.executable, "-P", "-m", "nodusctl", *words]

    def run(self, *words: str, limit_seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """One nodusctl command."""
        return self.shell(self.words(*words), limit_seconds=limit_seconds)

    def done(self, *words: str) -> str:
        """One nodusctl command that must succeed; its stdout."""
        ended = self.run(*words)
        assert ended.returncode == 0, f"{words}: exit {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout

    def start(self, *words: str, **options: object) -> subprocess.Popen[str]:
        """A nodusctl command that goes on."""
        return self.spawn(self.words(*words), **options)

    def shell(self, words: Sequence[str], limit_seconds: float = 60) -> subprocess.CompletedProcess[str]:
        """Any command, from the project's folder."""
        return subprocess.run(
            words,
            cwd=self.project,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=limit_seconds,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def spawn(self, words: Sequence[str], **options: object) -> subprocess.Popen[str]:
        return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
            words, cwd=self.project, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )

    def status(self) -> dict[str, object]:
        return dict(json.loads(self.done("get", "ws/lab", "-o", "json"))["status"])

    def clear(self) -> None:
        """End what runs."""
        self.run("destroy", "workspace/lab", "--yes")
