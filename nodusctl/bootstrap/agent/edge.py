"""The armed edge: one finite deadline, as seconds on the boot clock of the kernel.

The boot clock counts while the computer sleeps and can't be set, so neither a suspended laptop nor a wrong date moves the edge. A deadline
of another boot says nothing: it is armed anew from the boot document.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from .layout import Layout, read_json, read_text, timestamp, write_json

# A kernel without a boot clock has a monotonic one, which stands still while the computer sleeps.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def kernel_boot_id() -> str:
    """The kernel's id of this boot."""
    return read_text("/proc/sys/kernel/random/boot_id").strip()


def boot_clock() -> float:
    """Seconds since the kernel started, sleep included."""
    return time.clock_gettime(_CLOCK)


def wall_time(clock: float) -> float:
    """A moment of the boot clock as seconds of the computer's clock, as that goes now."""
    return time.time() - (boot_clock() - clock)


def moment(clock: float | None = None) -> dict[str, Any]:
    """A moment as it is written down: on the boot clock, with the boot it belongs to, and as text. Now, unless given."""
    clock = boot_clock() if clock is None else clock
    return {"boot_id": kernel_boot_id(), "clock": clock, "time": timestamp(wall_time(clock))}


def is_of_this_boot(written: Mapping[str, Any]) -> bool:
    """Whether a ``moment`` counts on the clock that goes now."""
    return bool(written.get("boot_id") == kernel_boot_id())


def arm(layout: Layout, seconds: float) -> None:
    """From now on the machine ends in ``seconds``. ValueError for an edge that would never come."""
    if not math.isfinite(seconds):
        raise ValueError("an edge is finite")
    written = {"boot_id": kernel_boot_id(), "deadline": boot_clock() + seconds, "armed_until": timestamp(time.time() + seconds)}
    write_json(layout.edge_file, written)


def remaining_seconds(layout: Layout) -> float:
    """Seconds left as read back from the file; 0 where nothing is armed in this boot, because a machine without an edge must not run."""
    written = read_json(layout.edge_file)
    if not is_of_this_boot(written):
        return 0.0
    return float(written["deadline"]) - boot_clock()
