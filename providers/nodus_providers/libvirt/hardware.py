"""What a host's hardware looks like now: the texts gathered from libvirt and from the host's own files, and what a launch takes of it."""

from __future__ import annotations

import queue
import threading
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass

from nodus_providers.libvirt.groups import Group, HostdevPolicy
from nodus_providers.libvirt.host_probe import cards_script, probe_script
from nodus_providers.libvirt.hostdevs import Rom, hostdev_elements, mmio_window_mib
from nodus_providers.libvirt.hosts import Host
from nodus_providers.libvirt.inventory import HardwareRules, HostInventory, HostTexts, read_inventory
from nodus_providers.libvirt.numa import Seat, Shortage, Wanted, read_cells
from nodus_providers.libvirt.pci import PciAddress
from nodus_providers.libvirt.pci_models import Model
from nodus_providers.libvirt.records import owner_in
from nodus_providers.libvirt.shell import ScriptError
from nodus_providers.libvirt.units import groups_for, passed_devices, seat_for
from nodusctl.base.quantities import quantity_units
from nodusctl.provider.replies import Refused, Scope

_GIB = 2**30
_PROBE_SECONDS = 60.0


def inventory_of(host: Host) -> HostInventory:
    """The host's hardware, as plans and launches need it."""
    return _inventory_of(host, cards_script(), *rules_of(host).roms.values())


def whole_inventory_of(host: Host, *paths: str) -> HostInventory:
    """With all that the doctor looks at; ``paths`` are files whose permissions it wants to know."""
    return _inventory_of(host, probe_script(), *paths)


def _inventory_of(host: Host, script: str, *paths: str) -> HostInventory:
    connection, answers = host.connection, _probing(host, script, paths)
    capabilities = connection.capabilities()
    cells = read_cells(capabilities)
    sizes = tuple(sorted({size // 1024 for cell in cells for size in cell.huge}))
    devices, domains = connection.pci_devices(), connection.definitions()
    probe = answers.get()
    if isinstance(probe, OSError):
        raise probe
    texts = HostTexts(
        devices=devices,
        capabilities=capabilities,
        domains=domains,
        probe=probe,
        free_bytes=connection.free_memory(len(cells)),
        free_pages=connection.free_pages(sizes, len(cells)),
    )
    return read_inventory(texts, rules_of(host), owner_of=owner_in)


def _probing(host: Host, script: str, paths: tuple[str, ...]) -> queue.SimpleQueue[str | OSError]:
    """Start the look at the host's own files, beside what libvirt is asked meanwhile; the answer comes within the probe's limit."""
    answers: queue.SimpleQueue[str | OSError] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put(host.shell.run(script, *paths, limit_seconds=_PROBE_SECONDS))
        except ScriptError:
            answers.put("")  # a host whose shell can't do it is looked at through libvirt alone
        except OSError as fault:
            answers.put(fault)

    threading.Thread(target=run, name=f"probe of {host.zone}", daemon=True).start()
    return answers


def rules_of(host: Host) -> HardwareRules:
    """What the settings say about the host's cards."""
    cards = host.settings.cards
    virsh = "virsh" if host.is_this_computer else f"virsh -c {host.settings.uri}"
    return HardwareRules(
        policy=HostdevPolicy(cards.policy),
        virsh=virsh,
        models={ids: _model(text) for ids, text in cards.names.items()},
        excluded=frozenset(PciAddress.parse(text) for text in cards.exclude),
        roms={PciAddress.parse(text): rom for text, rom in cards.roms.items() if rom != "off"},
    )


def huge_page_bytes(host: Host) -> int:
    """The size of the huge pages that machines with cards get, 0 for ordinary memory."""
    wanted = host.settings.cards.hugePages
    return quantity_units(wanted) if wanted else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The cards of one launch, and where it sits."""

    groups: tuple[Group, ...]
    hostdevs: tuple[ET.Element, ...]
    seat: Seat
    mmio_window_mib: int
    drivers: Mapping[str, str]

    @property
    def addresses(self) -> tuple[str, ...]:
        """What the machine is given."""
        return tuple(str(device.address) for device in passed_devices(self.groups))


def take(host: Host, unit_ids: tuple[str, ...], *, vcpus: int, memory_bytes: int) -> Taken | Refused:
    """What a launch on these units gets, looked at just before the start. The start itself is the claim."""
    inventory, cards = inventory_of(host), host.settings.cards
    groups = groups_for(unit_ids, inventory)
    if isinstance(groups, Refused):
        return groups
    wanted = Wanted(
        memory_bytes=memory_bytes,
        vcpus=vcpus,
        page_bytes=huge_page_bytes(host),
        is_pinned=cards.pinned,
    )
    place = seat_for(groups, inventory, wanted)
    if isinstance(place, Shortage):
        return Refused("CapacityUnavailable", Scope.ZONE, f"{place.why}; {place.fix}" if place.fix else place.why)
    devices = passed_devices(groups)
    bars = [size for device in devices for size in inventory.probe.facts(device.address).bars]
    roms = {PciAddress.parse(text): Rom(is_off=True) if rom == "off" else Rom(file=rom) for text, rom in cards.roms.items()}
    return Taken(
        groups=groups,
        hostdevs=hostdev_elements(devices, HostdevPolicy(cards.policy), roms),
        seat=place,
        mmio_window_mib=mmio_window_mib(bars),
        drivers={str(device.address): device.driver or "" for device in devices},
    )


def _model(text: str) -> Model:
    """``rtx4090 24``: a family and the GiB of one card."""
    family, _, memory = text.partition(" ")
    return Model(family=family, memory_gib=int(memory))
