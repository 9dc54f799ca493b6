"""A project whose machines run on the emulated GPU host, driven from outside by real commands in processes of their own."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest

from support.emulated_gpu_host import GpuHost
from support.libvirt_project import LibvirtProject

# A real command in which one method, at one of its calls, kills the process: when it is about to be called, or has returned.
DYING = """
import os
from nodus_providers.libvirt.connection import Connection
method, calls = Connection.{method}, []
def dying(*arguments, **named):
    calls.append(method)
    if len(calls) == {nth} and not {after}:
        os.kill(os.getpid(), 9)
    answer = method(*arguments, **named)
    if len(calls) == {nth} and {after}:
        os.kill(os.getpid(), 9)
    return answer
Connection.{method} = dying
from nodusctl.cli.main import main
main()
"""
WORKSPACE = """apiVersion: nodus.dev/v1
kind: Workspace
metadata: {{name: {name}}}
spec:
  image: nodus/workspace-cpu
  resources: {{cpu: 1, memory: 192Mi, gpu: {gpu}}}
  {volume}tools: [SSH]
  maxCostUSD: "5.00"
"""
IMAGES = "/var/lib/libvirt/images/nodus"
GUEST_IS_UP = "NODUS-"  # what its own programs say on the console begins so
HOME = "---\napiVersion: nodus.dev/v1\nkind: Volume\nmetadata: {name: lab-home}\nspec: {size: 1Gi}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProject(LibvirtProject):
    """``wanted`` are Workspaces by name with the card each asks for; ``home`` is the one that has a Volume, "" for none."""

    host: GpuHost
    wanted: dict[str, str]
    home: str = ""
    cards: dict[str, Any] = field(default_factory=dict)

    def write(self) -> GpuProject:
        for part in ("project", "home"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        settings = json.loads(json.dumps(self.host.settings))
        settings["providers"]["libvirt"]["hosts"][0]["cards"] |= self.cards
        (self.project / "nodusctl.yaml").write_text(json.dumps(settings), encoding="utf-8")
        (self.project / "lab.yaml").write_text(self.documents(), encoding="utf-8")
        return self

    def documents(self) -> str:
        """Its Workspaces and the home."""
        volume, none = "volume: lab-home\n  ", "ephemeral: true\n  "
        texts = [WORKSPACE.format(name=name, gpu=gpu, volume=volume if name == self.home else none) for name, gpu in self.wanted.items()]
        return "---\n".join(texts) + (HOME if self.home else "")

    def killed(self, method: str, nth: int, *words: str, after: bool = False) -> None:
        """A command that must die at this call."""
        ended = self.shell([sys.executable, "-c", DYING.format(method=method, nth=nth, after=after), *words], limit_seconds=180)
        assert ended.returncode == -9, f"{words} lived: exit {ended.returncode}\n{ended.stdout}\n{ended.stderr}"

    def come_up(self, *words: str) -> None:
        """Start ``lab`` by ``words``, again where its guest hangs in its boot, as a guest of an emulated processor does at times.

        A guest that got further than its kernel and can't be reached is a failure; three that hung say nothing, and the test is skipped.
        """
        console = ""
        for _ in range(3):
            ran = self.run(*words, limit_seconds=400)
            if self.phase("lab") == "Running":
                return
            console = self.host.run("sh", "-c", f"cat {IMAGES}/machines/*/console.log")
            assert ran.returncode != 0 and GUEST_IS_UP not in console, f"{ran.stdout}\n{ran.stderr}\n{console}"
            self.run("stop", "lab", limit_seconds=400)
            words = ("start", "lab", "--timeout", "200s")
        pytest.skip(f"guests hang in their boot on the emulated GPU host; the last one's console ends with: {console[-200:]!r}")

    def phase(self, name: str) -> str:
        """Where a Workspace stands."""
        return str(json.loads(self.done("get", f"ws/{name}", "-o", "json"))["status"]["phase"])

    def domains(self) -> dict[str, str]:
        return self.host.domains()

    def clear(self) -> None:
        """End what is left, ours or not."""
        for name, state in self.domains().items():
            if state != "shut off":
                self.host.virsh("destroy", name)
            self.host.virsh("undefine", name)
        self.host.run("sh", "-c", f"rm -rf {IMAGES}/machines/* {IMAGES}/disks/*")
