"""The armed edge: one finite deadline, as seconds on the boot clock of the kernel.

The boot clock counts while the computer sleeps and can't be set, so neither a suspended laptop nor a wrong date moves the edge. A deadline
of another boot says nothing: it is armed anew from the boot document.
"""

from __future__ import annotations

import time

from .layout import Layout, read_json, read_text, timestamp, write_json


def kernel_boot_id() -> str:
    """The kernel's id of this boot."""
    return read_text("/proc/sys/kernel/random/boot_id").strip()


def boot_clock() -> float:
    """Seconds since the kernel started, sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def arm(layout: Layout, seconds: float) -> None:
    """From now on the machine ends in ``seconds``."""
    written = {"boot_id": kernel_boot_id(), "deadline": boot_clock() + seconds, "armed_until": timestamp(time.time() + seconds)}
    write_json(layout.edge_file, written)


def remaining_seconds(layout: Layout) -> float:
    """Seconds left as read back from the file; 0 where nothing is armed in this boot, because a machine without an edge must not run."""
    written = read_json(layout.edge_file)
    if written.get("boot_id") != kernel_boot_id():
        return 0.0
    return float(written["deadline"]) - boot_clock()
