"""A project on this computer: real processes, real ssh, real files, on the same words as a simulated world."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path

from nodus_providers.local.provider import LocalProvider
from nodusctl.base.clock import Clock, SystemClock
from nodusctl.provider.contract import Provider
from support.world import World, context_of


class LocalWorld(World):
    """One process's view of a project whose machines are sandboxes on this computer, priced so that charges can be checked."""

    project_yaml = 'project: default\nproviders:\n  here: {type: local, rateUSDPerHour: "3.60"}\n'

    def _open(self, now: datetime | None) -> tuple[Mapping[str, Provider], Clock]:
        settings = next(one.settings for one in self.project.providers)
        self.computer = LocalProvider.open(context_of(self.folder, "here", self.wall), settings)
        return {"here": self.computer}, SystemClock()

    def close(self) -> None:
        self.state.close()

    def home_folder(self) -> Path:
        """Where the live content of the home lies."""
        return self.computer.home_of(self.home().disk_id)


def processes_of(folder: Path, machine_ids: Collection[str]) -> list[str]:
    """Every live process that names the project's folder or carries a machine's marker; found without any code of ours."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            environment = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        is_ours = str(folder) in command or any(f"NODUSCTL_MACHINE={one}" in environment for one in machine_ids)
        if is_ours and state not in "ZX":
            found.append(f"{entry.name} {command.strip()}")
    return found
