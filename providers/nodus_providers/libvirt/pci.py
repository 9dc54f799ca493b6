"""One PCI device of a host, read from libvirt's node device XML. Pure: text in, a value out.

The surprise: libvirt writes bus, slot and function in decimal as elements and in hex as attributes; and the names it gives come from the
host's pci.ids, so they are shown to people and never decided on.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

_TEXT = re.compile(r"(?:([0-9a-fA-F]{4,}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])\Z")
_NODE = re.compile(r"pci_([0-9a-f]{4,})_([0-9a-f]{2})_([0-9a-f]{2})_([0-7])\Z")
# Base class 06 are bridges, but for "other" ones: an NVSwitch is 0680 and an endpoint.
_BRIDGES = range(0x0600, 0x0680)
VFIO_DRIVERS = frozenset({"vfio-pci", "pci-stub"})
NVIDIA, AMD = 0x10DE, 0x1002


@dataclass(frozen=True, slots=True, order=True)
class PciAddress:
    """``0000:01:00.0``."""

    domain: int
    bus: int
    slot: int
    function: int

    def __str__(self) -> str:
        return f"{self.slot_text}.{self.function}"

    @property
    def slot_text(self) -> str:
        """The address without its function: what the functions of one card share."""
        return f"{self.domain:04x}:{self.bus:02x}:{self.slot:02x}"

    @property
    def node_name(self) -> str:
        """What libvirt calls the device: ``pci_0000_01_00_0``."""
        return f"pci_{self.domain:04x}_{self.bus:02x}_{self.slot:02x}_{self.function}"

    @classmethod
    def parse(cls, text: str) -> PciAddress:
        """Read ``0000:01:00.0``, ``01:00.0`` or ``pci_0000_01_00_0``. ValueError for anything else."""
        found = _TEXT.match(text.strip()) or _NODE.match(text.strip())
        if found is None:
            raise ValueError(f"{text!r} is no PCI address such as 0000:01:00.0")
        return cls(int(found[1] or "0", 16), int(found[2], 16), int(found[3], 16), int(found[4]))

    @classmethod
    def of_element(cls, element: ET.Element) -> PciAddress:
        """Read an ``<address domain= bus= slot= function=/>`` element; a part that is left out is 0."""
        parts = (int(element.get(name) or "0", 0) for name in ("domain", "bus", "slot", "function"))
        return cls(*parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class PciDevice:
    """One function of a device.

    ``class_code`` has 24 bits. ``driver`` is "" where none is bound. ``iommu_group`` is None where the host has no IOMMU in use, and
    ``group_members`` are all addresses of that group, itself and bridges among them. ``numa_node`` is None where the host doesn't say.
    """

    address: PciAddress
    class_code: int
    vendor: int
    product: int
    vendor_name: str = ""
    product_name: str = ""
    driver: str = ""
    parent: str = ""
    iommu_group: int | None = None
    group_members: tuple[PciAddress, ...] = ()
    numa_node: int | None = None
    is_bridge: bool = False
    physical_function: PciAddress | None = None
    virtual_functions: tuple[PciAddress, ...] = ()

    @property
    def is_display(self) -> bool:
        """A VGA (0300), 3D (0302) or other display controller (0380)."""
        return self.class_code >> 8 in {0x0300, 0x0302, 0x0380}

    @property
    def is_nvswitch(self) -> bool:
        """The switch of a board with NVLink: vendor NVIDIA, class 0680."""
        return self.vendor == NVIDIA and self.class_code >> 8 == 0x0680

    @property
    def is_on_vfio(self) -> bool:
        """Bound to a driver that leaves the device to virtual machines."""
        return self.driver in VFIO_DRIVERS

    @property
    def ids(self) -> str:
        """``10de:2684``."""
        return f"{self.vendor:04x}:{self.product:04x}"

    @property
    def shown(self) -> str:
        """``0000:01:00.1 (snd_hda_intel)``."""
        return f"{self.address} ({self.driver or 'no driver'})"

    def is_companion_of(self, card: PciDevice) -> bool:
        """True for a function of the same card that goes where the card goes: its audio, USB-C and display functions.

        The same slot alone isn't enough: next to a processor's own graphics stand USB controllers and others that the host needs.
        """
        if self.address.slot_text != card.address.slot_text or self.address == card.address:
            return False
        return (
            self.is_display or self.class_code >> 8 == 0x0403 or (self.class_code >> 8 in {0x0C03, 0x0C80} and self.vendor == card.vendor)
        )


def read_device(xml: str) -> PciDevice | None:
    """Read one node device; None for one that isn't on a PCI bus. ValueError for text that isn't such XML."""
    try:
        root = ET.fromstring(xml)
    except ET.ParseError as fault:
        raise ValueError(f"not a node device: {fault}") from fault
    pci = root.find("capability[@type='pci']")
    if pci is None:
        return None
    numbers = (int(pci.findtext(name, "0"), 0) for name in ("domain", "bus", "slot", "function"))
    class_code = int(pci.findtext("class", "0"), 0)
    group, numa = pci.find("iommuGroup"), pci.find("numa")
    physical = pci.find("capability[@type='phys_function']/address")
    return PciDevice(
        address=PciAddress(*numbers),
        class_code=class_code,
        vendor=_identity(pci, "vendor"),
        product=_identity(pci, "product"),
        vendor_name=(pci.findtext("vendor") or "").strip(),
        product_name=(pci.findtext("product") or "").strip(),
        driver=(root.findtext("driver/name") or "").strip(),
        parent=(root.findtext("parent") or "").strip(),
        iommu_group=int(group.get("number", "0")) if group is not None else None,
        group_members=tuple(sorted(PciAddress.of_element(one) for one in group.findall("address"))) if group is not None else (),
        numa_node=int(numa.get("node", "0")) if numa is not None else None,
        is_bridge=pci.find("capability[@type='pci-bridge']") is not None or class_code >> 8 in _BRIDGES,
        physical_function=PciAddress.of_element(physical) if physical is not None else None,
        virtual_functions=tuple(PciAddress.of_element(one) for one in pci.findall("capability[@type='virt_functions']/address")),
    )


def _identity(pci: ET.Element, name: str) -> int:
    found = pci.find(name)
    return int(found.get("id", "0"), 16) if found is not None else 0
