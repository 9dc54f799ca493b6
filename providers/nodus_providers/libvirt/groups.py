"""IOMMU groups: which card goes with which devices, and whether the host can let go of all of them at once.

The kernel gives a group to one virtual machine or to none, and only while every endpoint of it has no driver or one of vfio's; bridges
don't count. The surprise: a device of the group that is no part of the card (a network or disk controller) is never taken along, even
where libvirt would do it, because the host may live on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from nodus_providers.libvirt.pci import PciAddress, PciDevice


class HostdevPolicy(StrEnum):
    """Who moves a card between the host's driver and vfio-pci.

    MANAGED: libvirt, at each start and stop. LEAVE_ON_VFIO: the host's own configuration, once at its boot; nothing is detached or given
    back, for hosts where that hangs.
    """

    MANAGED = "managed"
    LEAVE_ON_VFIO = "leave-on-vfio"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One IOMMU group with at least one display device. ``number`` is None where the host puts it in no group.

    ``companions`` are functions of the same cards; ``foreign`` are all other endpoints; ``unseen`` are members libvirt didn't list.
    """

    number: int | None
    cards: tuple[PciDevice, ...]
    companions: tuple[PciDevice, ...] = ()
    bridges: tuple[PciDevice, ...] = ()
    foreign: tuple[PciDevice, ...] = ()
    unseen: tuple[PciAddress, ...] = ()

    @property
    def id(self) -> str:
        """``iommu-41``; the first card's address where there is no group."""
        return f"iommu-{self.number}" if self.number is not None else str(self.cards[0].address)

    @property
    def passed(self) -> tuple[PciDevice, ...]:
        """What a machine is given, in the order of addresses."""
        return tuple(sorted((*self.cards, *self.companions), key=lambda one: one.address))

    @property
    def endpoints(self) -> tuple[PciDevice, ...]:
        """Everything in the group but bridges."""
        return tuple(sorted((*self.passed, *self.foreign), key=lambda one: one.address))

    @property
    def numa_node(self) -> int | None:
        """The node its first card is on."""
        return self.cards[0].numa_node


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a group can't be given to a machine, and the commands that mend it, one a line."""

    why: str
    fix: str


def groups_of(devices: Iterable[PciDevice]) -> tuple[Group, ...]:
    """The groups that hold a display device, in the order of their first card's address."""
    by_address = {one.address: one for one in devices}
    members: dict[int, list[PciDevice]] = {}
    for one in sorted(by_address.values(), key=lambda device: device.address):
        if one.iommu_group is not None:
            members.setdefault(one.iommu_group, []).append(one)
    found = [_group(number, inside, by_address) for number, inside in members.items()]
    alone = [Group(number=None, cards=(one,)) for one in by_address.values() if one.is_display and one.iommu_group is None]
    return tuple(sorted((*(one for one in found if one.cards), *alone), key=lambda one: one.cards[0].address))


def obstacle(group: Group, policy: HostdevPolicy, virsh: str = "virsh") -> Obstacle | None:
    """The first thing that keeps ``group`` from a machine; None where it is viable. ``virsh`` is how this host is reached with it."""
    if group.number is None:
        why = f"{group.cards[0].shown} is in no IOMMU group: the IOMMU is off in the firmware or on the kernel's command line"
        return Obstacle(why, "Switch on VT-d or AMD-Vi in the firmware, add intel_iommu=on iommu=pt (Intel) to the kernel's line, reboot.")
    if group.unseen:
        names = ", ".join(map(str, group.unseen))
        return Obstacle(f"IOMMU group {group.number} has members that libvirt doesn't list: {names}", f"{virsh} nodedev-list --cap pci")
    return _shared(group, virsh) or _virtual(group) or (_left_on_host(group, virsh) if policy is HostdevPolicy.LEAVE_ON_VFIO else None)


def detach_commands(devices: Iterable[PciDevice], virsh: str) -> str:
    """Take devices from their host drivers until the next boot, one command a line."""
    return "\n".join(f"{virsh} nodedev-detach {one.address.node_name}" for one in devices)


def _group(number: int, inside: list[PciDevice], by_address: Mapping[PciAddress, PciDevice]) -> Group:
    cards = tuple(one for one in inside if one.is_display and not one.is_bridge)
    main = tuple(one for one in cards if not any(one.is_companion_of(other) and other.address < one.address for other in cards))
    companions = [one for one in inside if one not in main and not one.is_bridge and any(one.is_companion_of(card) for card in main)]
    bridges = tuple(one for one in inside if one.is_bridge)
    foreign = tuple(one for one in inside if one not in main and one not in companions and not one.is_bridge)
    listed = {address for one in inside for address in one.group_members}
    unseen = tuple(sorted(address for address in listed if address not in by_address))
    return Group(number=number, cards=main, companions=tuple(companions), bridges=bridges, foreign=foreign, unseen=unseen)


def _shared(group: Group, virsh: str) -> Obstacle | None:
    in_use = [one for one in group.foreign if one.driver and not one.is_on_vfio]
    if not in_use:
        return None
    names = ", ".join(one.shown for one in in_use)
    all_names = ", ".join(one.shown for one in group.endpoints)
    why = f"IOMMU group {group.number} ({all_names}) also holds what is no part of the card and is on a driver of the host: {names}"
    commands = detach_commands(in_use, virsh)
    return Obstacle(why, f"Put the card into a slot of its own. Or, only if the host can do without these devices:\n{commands}")


def _virtual(group: Group) -> Obstacle | None:
    for card in group.cards:
        if card.physical_function is not None:
            why = f"{card.shown} is a virtual function of {card.physical_function}, not a whole card"
            return Obstacle(why, f"On the host, as root:\necho 0 > /sys/bus/pci/devices/{card.physical_function}/sriov_numvfs")
        if card.virtual_functions:
            why = f"{card.shown} is split into virtual functions: {', '.join(map(str, card.virtual_functions))}"
            return Obstacle(why, f"On the host, as root:\necho 0 > /sys/bus/pci/devices/{card.address}/sriov_numvfs")
    return None


def _left_on_host(group: Group, virsh: str) -> Obstacle | None:
    """With ``leave-on-vfio`` nothing is detached by us, so everything must already be where it stays."""
    left = [one for one in group.passed if not one.is_on_vfio]
    if not left:
        return None
    all_names = ", ".join(one.shown for one in group.endpoints)
    why = f"IOMMU group {group.number} ({all_names}) isn't all on vfio-pci, and the policy leave-on-vfio detaches nothing itself: "
    why += ", ".join(f"{one.address} is {f'bound to {one.driver}' if one.driver else 'bound to nothing'}" for one in left)
    ids = ",".join(dict.fromkeys(one.ids for one in group.passed))
    return Obstacle(why, f"{detach_commands(left, virsh)}\nFor every boot, on the kernel's command line:\nvfio-pci.ids={ids}")
