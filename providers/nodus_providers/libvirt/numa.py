"""NUMA cells of a host, their huge pages, and where on them a machine fits. Pure: capabilities XML and counts in, a placement out.

A machine with passed-through cards pins all its memory at the start, so memory is checked as a whole and before anything is made. The
surprise: huge pages that are free in total may be spread over cells; each cell is looked at by itself.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from nodus_providers.libvirt.holders import bytes_of

_NO_COUNTS: Mapping[int, int] = MappingProxyType({})
_ORDINARY_PAGE = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One NUMA cell. ``pages`` and ``free_pages`` count by page size in bytes; ``free_bytes`` None where nobody asked."""

    id: int
    memory_bytes: int
    cpus: tuple[int, ...] = ()
    pages: Mapping[int, int] = field(default_factory=lambda: _NO_COUNTS)
    free_pages: Mapping[int, int] = field(default_factory=lambda: _NO_COUNTS)
    free_bytes: int | None = None

    @property
    def huge(self) -> Mapping[int, int]:
        """Huge pages set aside here, by size in bytes."""
        return {size: count for size, count in self.pages.items() if size > _ORDINARY_PAGE and count}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a machine needs of its host. ``page_bytes`` 0 for ordinary memory; ``cells`` are those its cards are on, nearest first."""

    memory_bytes: int
    vcpus: int
    page_bytes: int = 0
    is_pinned: bool = False
    cells: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Where a machine goes: the cells its memory comes from, and the CPUs its own run on (empty: anywhere)."""

    cells: tuple[int, ...] = ()
    cpus: tuple[int, ...] = ()
    page_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why it fits nowhere, and the command that helps."""

    why: str
    fix: str


def read_cells(capabilities_xml: str) -> tuple[Cell, ...]:
    """Read a host's cells. ValueError for text that isn't capabilities XML."""
    try:
        root = ET.fromstring(capabilities_xml)
    except ET.ParseError as fault:
        raise ValueError(f"not capabilities: {fault}") from fault
    return tuple(
        Cell(
            id=int(cell.get("id", "0")),
            memory_bytes=bytes_of(cell.find("memory")),
            cpus=tuple(int(cpu.get("id", "0")) for cpu in cell.findall("cpus/cpu")),
            pages={_page_bytes(page): int(page.text or "0") for page in cell.findall("pages")},
        )
        for cell in root.findall("host/topology/cells/cell")
    )


def with_free(cells: Iterable[Cell], free_bytes: Mapping[int, int], free_pages: Mapping[int, Mapping[int, int]]) -> tuple[Cell, ...]:
    """The cells with what is free in each, by cell id: bytes, and pages by size in bytes."""
    return tuple(replace(cell, free_bytes=free_bytes.get(cell.id), free_pages=free_pages.get(cell.id, {})) for cell in cells)


def has_iommu(capabilities_xml: str) -> bool | None:
    """What libvirt says of the host's IOMMU; None where it doesn't say."""
    found = ET.fromstring(capabilities_xml).find("host/iommu")
    return None if found is None else found.get("support") == "yes"


def seat(cells: Sequence[Cell], wanted: Wanted, busy_cpus: frozenset[int] = frozenset()) -> Seat | Shortage:
    """Where ``wanted`` fits: one cell, that of its cards first, else as few as it takes. ``busy_cpus`` are pinned to other machines."""
    if not cells:
        return Shortage(_NO_CELLS, "") if wanted.page_bytes else Seat()
    order = sorted(cells, key=lambda cell: (wanted.cells.index(cell.id) if cell.id in wanted.cells else len(wanted.cells), cell.id))
    alone = [cell for cell in order if _room(cell, wanted.page_bytes) >= wanted.memory_bytes]
    chosen = alone[:1] or _together(order, wanted)
    if not chosen:
        return _shortage(order, wanted)
    if not wanted.is_pinned:
        is_bound = bool(wanted.page_bytes or (wanted.cells and alone))
        return Seat(cells=tuple(sorted(cell.id for cell in chosen)) if is_bound else (), page_bytes=wanted.page_bytes)
    free = [cpu for cell in chosen for cpu in cell.cpus if cpu not in busy_cpus]
    if len(free) < wanted.vcpus:
        names = ", ".join(str(cell.id) for cell in chosen)
        why = f"{wanted.vcpus} CPUs are to be pinned and NUMA cell {names} has {len(free)} that no other machine is pinned to"
        return Shortage(why, "Ask for fewer CPUs, or leave pinning out.")
    return Seat(cells=tuple(sorted(cell.id for cell in chosen)), cpus=tuple(free[: wanted.vcpus]), page_bytes=wanted.page_bytes)


def pinnable_bytes(cells: Sequence[Cell], page_bytes: int, kept_bytes: int) -> int | None:
    """What a machine with cards could have now: free huge pages, or what is free but for ``kept_bytes``; None where no cells are named."""
    free = sum(_room(cell, page_bytes) for cell in cells)
    if not cells:
        return None
    return free if page_bytes else max(free - kept_bytes, 0)


_NO_CELLS = "the host doesn't say which NUMA cells it has, so huge pages can't be counted"


def _page_bytes(element: ET.Element) -> int:
    probe = ET.Element("size", {"unit": element.get("unit", "KiB")})
    probe.text = element.get("size", "0")
    return bytes_of(probe)


def _room(cell: Cell, page_bytes: int) -> int:
    """Bytes a machine can take here; ordinary memory that nobody counted is taken as all of the cell's."""
    if page_bytes:
        return cell.free_pages.get(page_bytes, 0) * page_bytes
    return cell.memory_bytes if cell.free_bytes is None else cell.free_bytes


def _together(order: Sequence[Cell], wanted: Wanted) -> list[Cell]:
    taken: list[Cell] = []
    for cell in order:
        if _room(cell, wanted.page_bytes) > 0:
            taken.append(cell)
        if sum(_room(one, wanted.page_bytes) for one in taken) >= wanted.memory_bytes:
            return taken
    return []


def _shortage(order: Sequence[Cell], wanted: Wanted) -> Shortage:
    rooms = ", ".join(f"cell {cell.id}: {_room(cell, wanted.page_bytes) // 2**20} MiB" for cell in sorted(order, key=lambda one: one.id))
    asked = f"{wanted.memory_bytes // 2**20} MiB are pinned at the start"
    if not wanted.page_bytes:
        return Shortage(f"{asked} and the host has free {rooms}", "Stop another machine, or ask for less memory.")
    size = f"{wanted.page_bytes // 1024}kB"
    pages = -(-wanted.memory_bytes // wanted.page_bytes)
    cell = order[0]
    missing = pages - cell.free_pages.get(wanted.page_bytes, 0) + cell.pages.get(wanted.page_bytes, 0)
    folder = f"/sys/devices/system/node/node{cell.id}/hugepages/hugepages-{size}"
    return Shortage(f"{asked} in huge pages of {size}, and free are {rooms}", f"echo {missing} > {folder}/nr_hugepages")
