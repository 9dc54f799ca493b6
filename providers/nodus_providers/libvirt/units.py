"""Groups as the planner's units: a machine gets whole groups, so a group is held, free or unusable as a whole. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from nodus_providers.libvirt.groups import Group
from nodus_providers.libvirt.inventory import HostInventory
from nodus_providers.libvirt.numa import Seat, Shortage, Wanted, seat
from nodus_providers.libvirt.pci import PciDevice
from nodusctl.provider.offers import Unit
from nodusctl.provider.replies import Refused, Scope


def unit_of(group: Group, inventory: HostInventory) -> Unit:
    """The group as a unit: its devices are all endpoints, because nobody else can have one of them meanwhile."""
    obstacle = inventory.start_obstacle(group)
    holders = inventory.holders(group)
    return Unit(
        id=group.id,
        devices=tuple(str(one.address) for one in group.endpoints),
        gpu_count=len(group.cards),
        holder=", ".join(one.name for one in holders),
        is_viable=obstacle is None,
        why_not=obstacle.why if obstacle is not None else "",
        near=f"numa-{group.numa_node}" if group.numa_node is not None else "",
        fix=obstacle.fix if obstacle is not None else "\n".join(one.fix for one in holders),
    )


def groups_for(unit_ids: Sequence[str], inventory: HostInventory) -> tuple[Group, ...] | Refused:
    """The groups a launch asks for, looked at again just before the start. Whoever has one is another: who starts holds nothing yet."""
    found = []
    for unit_id in unit_ids:
        group = inventory.group_of(unit_id)
        if group is None:
            return Refused("Invalid", Scope.DEVICE, f"this host has no card in {unit_id}")
        obstacle = inventory.start_obstacle(group)
        if obstacle is not None:
            return Refused("DeviceGroupNotViable", Scope.DEVICE, obstacle.why)
        holders = [one.name for one in inventory.holders(group)]
        if holders:
            names = ", ".join(str(one.address) for one in group.passed)
            return Refused("DeviceBusy", Scope.DEVICE, f"{names} held by {', '.join(holders)}")
        found.append(group)
    return tuple(found)


def passed_devices(groups: Sequence[Group]) -> tuple[PciDevice, ...]:
    """What a machine on these groups is given."""
    return tuple(one for group in groups for one in group.passed)


def seat_for(groups: Sequence[Group], inventory: HostInventory, wanted: Wanted) -> Seat | Shortage:
    """Where a machine on these groups fits: the cells of its cards are added to ``wanted`` in front; running machines keep their CPUs."""
    nodes = dict.fromkeys(group.numa_node for group in groups if group.numa_node is not None)
    near = Wanted(
        memory_bytes=wanted.memory_bytes,
        vcpus=wanted.vcpus,
        page_bytes=wanted.page_bytes,
        is_pinned=wanted.is_pinned,
        cells=(*nodes, *(cell for cell in wanted.cells if cell not in nodes)),
    )
    busy = frozenset(cpu for claim in inventory.claims if claim.is_active for cpu in claim.pinned_cpus)
    return seat(inventory.cells, near, busy)
