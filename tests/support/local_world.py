"""A project on this computer: real processes, real ssh, real files, on the same words as a simulated world."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterator, Mapping
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


_MARKER = "NODUSCTL_MACHINE="


def processes_of(folder: Path, machine_ids: Collection[str]) -> list[str]:
    """Every live process that names the project's folder or carries a machine's marker; found without any code of ours."""
    found = []
    for pid, command, environment in _live_processes():
        if str(folder) in command or any(f"{_MARKER}{one}" in environment for one in machine_ids):
            found.append(f"{pid} {command.strip()}")
    return found


def machines_alive(folder: Path) -> set[str]:
    """The machines of the project's folder that a live process names, also those that no record knows."""
    named = re.compile(re.escape(str(folder)) + r"\S*/machines/(m-[0-9a-f]+)")
    return {found for _, command, _ in _live_processes() for found in named.findall(command)}


def commands_of_all() -> list[str]:
    """The command line of every process of this computer that may be read."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


def files_with(text: str, folder: Path) -> list[Path]:
    """Files below a folder in which ``text`` stands; machines at work write there meanwhile, and what goes while it is read isn't one."""
    found = []
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in names):
            with contextlib.suppress(FileNotFoundError):
                if path.is_file() and text.encode() in path.read_bytes():
                    found.append(path)
    return found


def _live_processes() -> Iterator[tuple[str, str, list[str]]]:
    """Pid, command line and environment of each."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            environment = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX":
            yield entry.name, command, environment
