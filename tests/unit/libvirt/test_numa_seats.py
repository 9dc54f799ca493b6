"""Where a machine fits on a host's NUMA cells, with huge pages and pinned CPUs."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.gpu_host import GIB, GpuHost, capabilities, card, domain

from nodus_providers.libvirt.numa import Seat, Shortage, Wanted, has_iommu, pinnable_bytes, read_cells, seat, with_free
from nodus_providers.libvirt.units import seat_for

RECORDED = (Path(__file__).parent / "recorded" / "capabilities-two-cells.xml").read_text()
BIG = 2 * 2**20


def test_recorded_cells_have_memory_pages_and_cpus() -> None:
    first, second = read_cells(RECORDED)
    assert (first.memory_bytes, first.cpus, first.pages[BIG]) == (985472 * 1024, (0,), 32)
    assert (second.id, second.huge) == (1, {BIG: 32})
    assert has_iommu(RECORDED) is True and has_iommu("<capabilities><host/></capabilities>") is None


def test_memory_comes_from_the_cell_of_the_card() -> None:
    host = GpuHost(nodes=[*card(1, numa=1)], capabilities=capabilities(32, 32))
    inventory = host.inventory()
    assert seat_for(inventory.groups, inventory, Wanted(memory_bytes=16 * GIB, vcpus=4)) == Seat(cells=(1,))


def test_another_cell_is_better_than_two_and_two_better_than_none() -> None:
    cells = read_cells(capabilities(8, 32))
    assert seat(cells, Wanted(memory_bytes=16 * GIB, vcpus=4, cells=(0,))) == Seat(cells=(1,))
    assert seat(cells, Wanted(memory_bytes=36 * GIB, vcpus=4, cells=(0,))) == Seat(), "nothing to bind where it is spread anyway"


def test_huge_pages_are_counted_in_each_cell_by_itself() -> None:
    cells = with_free(read_cells(capabilities(32, 32, pages=2048)), {}, {0: {BIG: 1024}, 1: {BIG: 2048}})
    wanted = Wanted(memory_bytes=4 * GIB, vcpus=4, page_bytes=BIG, cells=(0,))
    assert seat(cells, wanted) == Seat(cells=(1,), page_bytes=BIG)


def test_too_few_huge_pages_name_each_cell_and_the_command() -> None:
    cells = with_free(read_cells(capabilities(32, pages=1024)), {}, {0: {BIG: 24}})
    found = seat(cells, Wanted(memory_bytes=4 * GIB, vcpus=4, page_bytes=BIG))
    assert isinstance(found, Shortage) and "cell 0: 48 MiB" in found.why
    assert found.fix == "echo 3048 > /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages"


def test_too_little_memory_is_told_with_what_is_free() -> None:
    cells = with_free(read_cells(capabilities(32, 32)), {0: 3 * GIB, 1: 4 * GIB}, {})
    found = seat(cells, Wanted(memory_bytes=8 * GIB, vcpus=4))
    assert isinstance(found, Shortage) and "cell 0: 3072 MiB, cell 1: 4096 MiB" in found.why


def test_copies_of_files_do_not_keep_a_machine_from_its_start() -> None:
    """libvirt's own count knows only pages that nothing was ever put into: few, on a host that has copied a disk."""
    host = GpuHost(nodes=[*card(1, numa=0)], capabilities=capabilities(32), free_bytes={0: GIB}, probe=[f"memory|0|{24 * 2**20}"])
    inventory = host.inventory()
    assert seat_for(inventory.groups, inventory, Wanted(memory_bytes=16 * GIB, vcpus=4)) == Seat(cells=(0,))
    assert isinstance(seat_for(inventory.groups, inventory, Wanted(memory_bytes=25 * GIB, vcpus=4)), Shortage)


def test_what_could_be_pinned_is_free_memory_less_what_the_host_keeps_or_free_huge_pages() -> None:
    cells = with_free(read_cells(capabilities(32, 32, pages=1024)), {0: 3 * GIB}, {1: {BIG: 512}})
    assert pinnable_bytes(cells, 0, GIB) == 34 * GIB, "a cell nobody counted is taken whole"
    assert pinnable_bytes(cells, BIG, GIB) == GIB
    assert pinnable_bytes(cells, 0, 64 * GIB) == 0
    assert pinnable_bytes((), 0, GIB) is None


def test_pinned_cpus_are_those_of_the_cell_that_nobody_else_is_pinned_to() -> None:
    cells = read_cells(capabilities(32, 32))
    wanted = Wanted(memory_bytes=GIB, vcpus=2, is_pinned=True, cells=(1,))
    assert seat(cells, wanted, frozenset({4})) == Seat(cells=(1,), cpus=(5, 6))
    found = seat(cells, wanted, frozenset({4, 5, 6}))
    assert isinstance(found, Shortage) and "has 1 that no other machine is pinned to" in found.why


def test_a_second_pinned_machine_gets_other_cpus_than_the_first() -> None:
    pins = "<cputune><vcpupin vcpu='0' cpuset='4-6,^5'/></cputune>"
    first = domain("first").replace("<devices>", f"{pins}<devices>")
    host = GpuHost(nodes=[*card(1, numa=1)], capabilities=capabilities(32, 32), running=[first])
    inventory = host.inventory()
    assert seat_for(inventory.groups, inventory, Wanted(memory_bytes=GIB, vcpus=2, is_pinned=True)) == Seat(cells=(1,), cpus=(5, 7))
    host.running, host.stopped = [], [first]
    inventory = host.inventory()
    assert seat_for(inventory.groups, inventory, Wanted(memory_bytes=GIB, vcpus=1, is_pinned=True)) == Seat(cells=(1,), cpus=(4,))


def test_a_host_that_names_no_cells_takes_ordinary_memory_and_no_huge_pages() -> None:
    assert seat((), Wanted(memory_bytes=GIB, vcpus=1)) == Seat()
    assert isinstance(seat((), Wanted(memory_bytes=GIB, vcpus=1, page_bytes=BIG)), Shortage)


def test_other_text_is_an_error() -> None:
    with pytest.raises(ValueError, match="not capabilities"):
        read_cells("no")
