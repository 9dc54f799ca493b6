"""The agent's view of a machine from outside: its files in the machine's folder, and its commands.

The agent came with the boot document and lies in the folder; we run it there and read what it wrote. Nothing here knows its code.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nodus_providers.local.folders import read_json
from nodusctl.base.timestamps import parse_time

_COMMAND_LIMIT_SECONDS = 45.0
# -B: an interpreter that writes its byte code would bring back a folder that was taken away while it started.
# -S: the agent needs the standard library only, and looking for installed packages takes as long as all of its imports.
AGENT_FLAGS = ("-B", "-E", "-s", "-S")
_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


@dataclass(frozen=True, slots=True)
class Guest:
    """One machine's agent."""

    folder: Path

    @property
    def has_begun(self) -> bool:
        """True once a keeper is on record: from here on the machine exists."""
        return (self.folder / "run" / "keeper.json").exists()

    def has_keeper(self) -> bool:
        """True while the recorded keeper lives: pid, start time and boot id, never the pid alone."""
        return self._lives("keeper.json")

    def is_of_this_boot(self) -> bool:
        """False once the computer has been restarted since the machine began."""
        return read_json(self.folder / "run" / "keeper.json").get("boot_id") == kernel_boot_id()

    def door(self) -> int:
        """The port on which the machine's sshd answers; 0 while none does."""
        written = read_json(self.folder / "run" / "door.json")
        return int(written["port"]) if written.get("is_open") and self._lives("door.json") else 0

    def ended(self) -> Mapping[str, Any]:
        """``ended_at``, ``reason`` and ``detail``, once the machine has ended itself; else empty."""
        return read_json(self.folder / "run" / "ended.json")

    def end_note(self) -> Mapping[str, Any]:
        """``reason``, ``detail`` and ``decided_at``, written before anything of the machine was ended; else empty."""
        return read_json(self.folder / "run" / "end-note.json")

    def armed_until(self) -> datetime | None:
        """The edge as armed last."""
        return _time_in(self.folder / "run" / "edge.json", "armed_until")

    def started_at(self) -> datetime | None:
        """When the keeper began."""
        return _time_in(self.folder / "run" / "keeper.json", "started_at")

    def last_seen(self) -> datetime | None:
        """The last heartbeat."""
        path = self.folder / "run" / "heartbeat"
        return datetime.fromtimestamp(path.stat().st_mtime, UTC) if path.exists() else self.started_at()

    def log_tail(self) -> str:
        """The last lines of the machine's log, for a person to read."""
        path = self.folder / "run" / "log"
        return " ".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]) if path.exists() else ""

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one of the agent's commands; OSError or TimeoutExpired where that can't be. It gets nothing of this process."""
        python = read_json(self.folder / "boot.json")["python"]
        return subprocess.run(
            [python, *AGENT_FLAGS, "-m", "agent", *arguments, "--folder", str(self.folder)],
            cwd=self.folder,
            env=_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_COMMAND_LIMIT_SECONDS,
            start_new_session=True,
            check=False,
        )

    def _lives(self, name: str) -> bool:
        written = read_json(self.folder / "run" / name)
        return bool(written) and written["boot_id"] == kernel_boot_id() and _start_of(int(written["pid"])) == written["start"]


def kernel_boot_id() -> str:
    """The kernel's id of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()


def vault_folder(machine_id: str, fallback: Path) -> str:
    """Where a machine keeps what must not touch a disk: on tmpfs where there is one."""
    memory = Path("/dev/shm")
    return str(memory / f"nodus-{os.geteuid()}-{machine_id}" if os.access(memory, os.W_OK) else fallback)


def _start_of(pid: int) -> int | None:
    """A live process's start time in ticks since boot; None for no process or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def _time_in(path: Path, name: str) -> datetime | None:
    text = read_json(path).get(name)
    return parse_time(text) if text else None
