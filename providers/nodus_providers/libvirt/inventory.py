"""What a host has for machines with cards: its groups, who holds them, its cells; put together from texts. Pure.

Whoever holds the connection gathers the texts (``HostTexts``) and hands them over; nothing here asks anybody.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from nodus_providers.libvirt.groups import Group, HostdevPolicy, Obstacle, groups_of, obstacle
from nodus_providers.libvirt.holders import DomainClaim, Holder, holders_of, read_claim
from nodus_providers.libvirt.host_probe import UNPROBED, HostProbe, read_probe
from nodus_providers.libvirt.numa import Cell, has_iommu, read_cells, with_free
from nodus_providers.libvirt.pci import PciAddress, PciDevice, read_device
from nodus_providers.libvirt.pci_models import Model, model_of
from nodus_providers.libvirt.quarantine import Mark, mark_on


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTexts:
    """What was read from a host.

    ``devices`` are node device XMLs; ``domains`` pairs of a domain's XML (live where it runs, else inactive) and whether it runs;
    ``probe`` the output of ``host_probe.probe_script()`` or "". ``free_bytes`` and ``free_pages`` (by page size in bytes) are by cell.
    """

    devices: tuple[str, ...] = ()
    capabilities: str = "<capabilities/>"
    domains: tuple[tuple[str, bool], ...] = ()
    probe: str = ""
    free_bytes: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    free_pages: Mapping[int, Mapping[int, int]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareRules:
    """What the settings say about cards.

    ``virsh`` is how a person reaches this host with virsh; ``models`` names cards the shipped table doesn't, by ``vendor:product``;
    ``excluded`` addresses are never offered; ``roms`` are the cards' ROM files on the host.
    """

    policy: HostdevPolicy = HostdevPolicy.MANAGED
    virsh: str = "virsh"
    models: Mapping[str, Model] = field(default_factory=lambda: MappingProxyType({}))
    excluded: frozenset[PciAddress] = frozenset()
    roms: Mapping[PciAddress, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class HostInventory:
    """One host's hardware as machines see it."""

    devices: Mapping[PciAddress, PciDevice]
    groups: tuple[Group, ...]
    claims: tuple[DomainClaim, ...]
    cells: tuple[Cell, ...]
    probe: HostProbe
    rules: HardwareRules
    has_iommu: bool | None = None

    @property
    def offered(self) -> tuple[tuple[Group, Model], ...]:
        """The groups with the model of their cards; what has no name, holds several kinds or is excluded isn't among them."""
        found = []
        for group in self.groups:
            models = {model_of(card, self.rules.models) for card in group.cards}
            model = next(iter(models)) if len(models) == 1 else None
            if model is not None and not any(card.address in self.rules.excluded for card in group.cards):
                found.append((group, model))
        return tuple(found)

    def huge_bytes(self, page_bytes: int) -> int:
        """What huge pages of this size machines of ours may have: those that are free, and those that ours have already."""
        ours = sum(one.memory_bytes for one in self.claims if one.is_active and one.owner and one.has_huge_pages)
        return ours + sum(cell.free_pages.get(page_bytes, 0) for cell in self.cells) * page_bytes

    def obstacle(self, group: Group) -> Obstacle | None:
        """Why the group can't be given to a machine: a quarantine, a card that doesn't answer, or what shares the group."""
        for card in group.cards:
            if (mark := self.mark(card)) is not None:
                return Obstacle(
                    f"{card.address} is in quarantine: {mark.reason or 'it failed'}", f"On the host, as root:\n{mark.lift_command}"
                )
            if self.probe.facts(card.address).answers is False:
                state = self.probe.facts(card.address).power_state or "unknown"
                why = f"{card.address} doesn't answer (power state {state}): its configuration space can't be read or holds only ones"
                return Obstacle(why, "Power the host off and on; a reboot is often not enough.")
        return obstacle(group, self.rules.policy, self.rules.virsh)

    def start_obstacle(self, group: Group) -> Obstacle | None:
        """Why a machine with the group couldn't start: an obstacle, or a ROM file of the settings that QEMU can't read."""
        return self.obstacle(group) or next(filter(None, (self._rom_obstacle(card.address) for card in group.passed)), None)

    def _rom_obstacle(self, card: PciAddress) -> Obstacle | None:
        rom = self.rules.roms.get(card, "")
        if rom and self.probe.is_missing(rom):
            return Obstacle(
                f"the ROM file of {card} is not on the host: {rom}", f"Put it there, or take it out of cards.roms:\nls -l {rom}"
            )
        if rom and self.probe.is_shut(rom, 4):
            return Obstacle(f"{self.probe.qemu_user} can't read the ROM file of {card}: {rom}", f"On the host, as root:\nchmod a+r {rom}")
        return None

    def mark(self, card: PciDevice) -> Mark | None:
        """The quarantine mark of a card."""
        return mark_on(card, self.probe)

    def holders(self, group: Group) -> tuple[Holder, ...]:
        """Who has the group now."""
        return holders_of(group, self.claims, self.probe, self.rules.virsh)

    def group_of(self, unit_id: str) -> Group | None:
        """The group a unit id names."""
        return next((one for one in self.groups if one.id == unit_id), None)


def read_inventory(
    texts: HostTexts, rules: HardwareRules | None = None, *, owner_of: Callable[[ET.Element], str] = lambda _: ""
) -> HostInventory:
    """Put a host's texts together; ``owner_of`` tells whose a domain is, from its root element. ValueError for text of another kind."""
    probe = read_probe(texts.probe) if texts.probe else UNPROBED
    devices = [one for one in (read_device(xml) for xml in texts.devices) if one is not None]
    return HostInventory(
        devices={one.address: one for one in devices},
        groups=groups_of(devices),
        claims=tuple(read_claim(xml, is_active=is_active, owner_of=owner_of) for xml, is_active in texts.domains),
        # libvirt counts a page that holds a copy of a file as taken, which on a host that has run for a day is most of its memory.
        cells=with_free(read_cells(texts.capabilities), {**texts.free_bytes, **probe.available}, texts.free_pages),
        probe=probe,
        rules=rules or HardwareRules(),
        has_iommu=has_iommu(texts.capabilities),
    )
