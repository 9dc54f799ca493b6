"""A machine's limits: by cgroup where one takes them, else by rlimit where that says the same, else not at all; and which it was.

The surprise: memory is limited through RLIMIT_DATA, not RLIMIT_AS. Address space is reserved by the terabyte by CUDA, Node and Java without
being used; what is counted as data is what a process could really fill. On GPU work neither is set.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nodus_providers.local.cgroups import Controllers, make_groups, remove_groups, sweep_groups
from nodus_providers.local.folders import read_json

MOST_PROCESSES = 8192
_PREFIX = "nodus-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a machine may use; None is no limit."""

    memory_bytes: int | None = None
    cpu_milli: int | None = None
    has_gpu: bool = False

    def by_controller(self) -> dict[str, int]:
        """As cgroup controllers are named."""
        named = {"memory": self.memory_bytes, "cpu": self.cpu_milli, "pids": MOST_PROCESSES}
        return {name: value for name, value in named.items() if value is not None}


def limits_section(controllers: Controllers, machine_id: str, wanted: Wanted) -> dict[str, object]:
    """Make the machine's groups; returns what the agent puts every process under, and how each limit is enforced."""
    sweep_groups(controllers, _PREFIX, time.time())
    asked = wanted.by_controller()
    by_group = {name: value for name, value in asked.items() if name in controllers.parents}
    rlimits = _rlimits(wanted, {name: value for name, value in asked.items() if name not in by_group})
    return {
        "cgroups": list(make_groups(controllers, f"{_PREFIX}{machine_id}", by_group)),
        "rlimits": rlimits,
        "enforced": {name: how(controllers, name, wanted.has_gpu) for name in asked},
    }


def remove_limits(folder: Path) -> None:
    """Take away the groups of a machine of which nothing runs any more."""
    remove_groups(tuple((read_json(folder / "boot.json").get("limits") or {}).get("cgroups", ())))


def how(controllers: Controllers, name: str, has_gpu: bool = False) -> str:
    """In words, how the limit ``name`` (memory, cpu, pids) holds on this computer."""
    if name in controllers.parents:
        return f"cgroup v{controllers.parents[name].version}"
    if name == "memory" and not has_gpu:
        return "rlimit, for each process by itself"
    if name == "pids" and os.geteuid() != 0:
        return "rlimit, for all processes of this user together"
    return "not limited"


def _rlimits(wanted: Wanted, left: Mapping[str, int]) -> dict[str, int]:
    found = {}
    if "memory" in left and not wanted.has_gpu:
        found["DATA"] = left["memory"]
    if "pids" in left and os.geteuid() != 0:
        found["NPROC"] = left["pids"]
    return found
