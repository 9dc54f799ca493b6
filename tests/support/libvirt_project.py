"""A project whose machines are virtual machines on this computer, driven from outside by real commands in processes of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass

from support import libvirt_host
from support.local_project import LocalProject

LAB = """apiVersion: nodus.dev/v1
kind: Workspace
metadata: {name: lab}
spec:
  image: nodus/workspace-cpu
  resources: {cpu: 1, memory: 192Mi}
  volume: lab-home
  tools: [SSH]
  maxCostUSD: "5.00"
---
apiVersion: nodus.dev/v1
kind: Volume
metadata: {name: lab-home}
spec: {size: 1Gi}
"""


@dataclass(frozen=True, slots=True)
class LibvirtProject(LocalProject):
    """The same project as on this computer itself, with one libvirt host; its files lie in ``folder/host``."""

    def write(self) -> LibvirtProject:
        for part in ("project", "home"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        provider = {"type": "libvirt", **libvirt_host.settings(self.folder / "host", rateUSDPerHour="0.12")}
        settings = {"project": "lab", "providers": {"metal": provider}}
        (self.project / "nodusctl.yaml").write_text(json.dumps(settings), encoding="utf-8")
        (self.project / "lab.yaml").write_text(LAB, encoding="utf-8")
        return self

    def run(self, *words: str, limit_seconds: float = 240):  # type: ignore[no-untyped-def]
        return super(LibvirtProject, self).run(*words, limit_seconds=limit_seconds)

    def apply(self) -> str:
        """Apply, with the state in the project's own folder, which nobody shares."""
        return self.done("apply", "--yes", "--local-state")

    def change(self, before: str, after: str) -> None:
        """Edit lab.yaml."""
        path = self.project / "lab.yaml"
        text = path.read_text(encoding="utf-8")
        assert before in text
        path.write_text(text.replace(before, after), encoding="utf-8")

    def domains(self) -> dict[str, str]:
        """Domains whose files are this project's: name to state."""
        names = [name for name in libvirt_host.virsh("list", "--all", "--name").split() if name]
        ours = [name for name in names if str(self.folder) in libvirt_host.virsh("dumpxml", "--inactive", name)]
        return {name: libvirt_host.virsh("domstate", name) for name in ours}

    def files(self, pattern: str) -> list[str]:
        """Files of the host, by a pattern below its folder."""
        return sorted(str(path.relative_to(self.folder / "host")) for path in (self.folder / "host").glob(pattern))

    def clear(self) -> None:
        self.run("destroy", "workspace/lab", "--yes")
        for name in self.domains():
            libvirt_host.virsh("destroy", name)
            libvirt_host.virsh("undefine", name, "--nvram")
