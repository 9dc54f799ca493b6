"""The machine's limits: whatever is started in it enters its cgroups and takes its rlimits before its first instruction.

The provider made the groups and wrote their limits; ``boot.json`` names them. The keeper stays outside, so that a machine that has
used up its memory can still be ended.
"""

from __future__ import annotations

import contextlib
import os
import resource
from typing import Any

from .layout import Layout


def enter(layout: Layout) -> None:
    """In a new child: join the groups and take the limits. OSError where that can't be: nothing may run outside its limits."""
    given: dict[str, Any] = layout.boot.get("limits") or {}
    for group in given.get("cgroups", ()):
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as members:
            members.write("0")
    for name, value in sorted((given.get("rlimits") or {}).items()):
        number = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(number)[1]
        most = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
        resource.setrlimit(number, (most, most))


def kill_groups(layout: Layout) -> None:
    """End all that is in the machine's groups, where the kernel can do that in one go."""
    for group in (layout.boot.get("limits") or {}).get("cgroups", ()):
        path = os.path.join(group, "cgroup.kill")
        if os.path.exists(path):
            with contextlib.suppress(OSError), open(path, "w", encoding="ascii") as switch:
                switch.write("1")
