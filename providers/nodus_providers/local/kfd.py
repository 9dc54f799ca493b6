"""Which process computes on which AMD card, as the kernel's driver tells it: rocm-smi lists processes without their cards.

The driver keeps a folder for each process that opened it, with a file for every card, whether or not the process uses that card; memory
on a card is what tells use from having looked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

_DRIVER = Path("/sys/class/kfd/kfd")
_PROCESSES = Path("/proc")
_MEMORY = "vram_"


def users_by_card(driver: Path = _DRIVER, processes: Path = _PROCESSES) -> Mapping[int, tuple[int, str]]:
    """Pid and name of a process that has memory on a card, by the card's unique id; of several the lowest pid."""
    cards = dict(_cards(driver))
    users = {}
    for pid in sorted((int(path.name) for path in driver.glob("proc/*") if path.name.isdigit()), reverse=True):
        for path in (driver / "proc" / str(pid)).glob(f"{_MEMORY}*"):
            unique_id = cards.get(path.name.removeprefix(_MEMORY))
            if unique_id is not None and _number(path) > 0:
                users[unique_id] = (pid, _text(processes / str(pid) / "comm") or "unknown")
    return users


def _cards(driver: Path) -> Iterator[tuple[str, int]]:
    """The driver's own number of each card, and the unique id that its tools show."""
    for node in driver.glob("topology/nodes/*"):
        properties = dict(row.split(" ", 1) for row in _text(node / "properties").splitlines() if " " in row)
        unique_id = properties.get("unique_id", "0")
        if unique_id.isdigit() and int(unique_id):
            yield _text(node / "gpu_id"), int(unique_id)


def _number(path: Path) -> int:
    text = _text(path)
    return int(text) if text.isdigit() else 0


def _text(path: Path) -> str:
    """What a file says; "" where it can't be read, or its process has ended."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
