"""The parts of a domain's XML that hardware decides: cards, ROM files, huge pages, pinning, the window for large BARs. Pure.

The surprise: hostdevs are for the start only. A definition that keeps them would hold nothing and yet block others' inventory, so ours is
stored without them.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nodus_providers.libvirt.groups import HostdevPolicy
from nodus_providers.libvirt.numa import Seat
from nodus_providers.libvirt.pci import PciAddress, PciDevice

QEMU_NAMESPACE = "http://libvirt.org/schemas/domain/qemu/1.0"
_MIB, _GIB = 2**20, 2**30
_DEFAULT_WINDOW = 32 * _GIB
"""What OVMF sets aside above 4 GiB by itself; newer ones take more where the CPU has the address bits."""


@dataclass(frozen=True, slots=True)
class Rom:
    """What a card's ROM bar shows to the guest: a ``file`` on the host, or nothing at all where ``is_off``."""

    file: str = ""
    is_off: bool = False


def hostdev_elements(
    devices: Sequence[PciDevice], policy: HostdevPolicy = HostdevPolicy.MANAGED, roms: Mapping[PciAddress, Rom] | None = None
) -> tuple[ET.Element, ...]:
    """One ``<hostdev>`` a device, for ``<devices>``, in the order given."""
    return tuple(_hostdev(one, policy, (roms or {}).get(one.address)) for one in devices)


def address_element(address: PciAddress) -> ET.Element:
    """``<address domain='0x0000' bus='0x01' slot='0x00' function='0x0'/>``."""
    return ET.Element(
        "address",
        domain=f"0x{address.domain:04x}",
        bus=f"0x{address.bus:02x}",
        slot=f"0x{address.slot:02x}",
        function=f"0x{address.function:x}",
    )


def memory_backing(seat: Seat) -> ET.Element | None:
    """``<memoryBacking>`` with huge pages; None for ordinary memory. Pinning is VFIO's own doing, and libvirt raises the limit for it."""
    if not seat.page_bytes:
        return None
    backing = ET.Element("memoryBacking")
    pages = ET.SubElement(backing, "hugepages")
    ET.SubElement(pages, "page", size=str(seat.page_bytes // 1024), unit="KiB")
    return backing


def numa_tuning(seat: Seat) -> ET.Element | None:
    """``<numatune>`` that keeps the memory on the cells of the seat; None where it may be anywhere."""
    if not seat.cells:
        return None
    tuning = ET.Element("numatune")
    ET.SubElement(tuning, "memory", mode="strict", nodeset=",".join(map(str, seat.cells)))
    return tuning


def cpu_tuning(seat: Seat) -> ET.Element | None:
    """``<cputune>`` with one host CPU a guest CPU; None where nothing is pinned."""
    if not seat.cpus:
        return None
    tuning = ET.Element("cputune")
    for guest, host in enumerate(seat.cpus):
        ET.SubElement(tuning, "vcpupin", vcpu=str(guest), cpuset=str(host))
    return tuning


def hidden_hypervisor(vendor_id: str = "nodus") -> tuple[ET.Element, ...]:
    """Features that hide the hypervisor from drivers that refuse one (error 43 of old GeForce drivers). Off unless asked for."""
    hyperv = ET.Element("hyperv")
    ET.SubElement(hyperv, "vendor_id", state="on", value=vendor_id)
    kvm = ET.Element("kvm")
    ET.SubElement(kvm, "hidden", state="on")
    return hyperv, kvm


def mmio_window_mib(bars: Iterable[int]) -> int:
    """MiB that OVMF must set aside above 4 GiB for BARs of these sizes in bytes; 0 where what it takes by itself is enough.

    A BAR lies at a multiple of its size, so twice the sum, rounded up to a power of two, always has room. More is not better: the guest
    maps all of it, and on old kernels that takes minutes.
    """
    large = [size for size in bars if size >= 64 * _MIB]
    wanted = 1 << max(2 * sum(large) - 1, 0).bit_length()
    return wanted // _MIB if large and wanted > _DEFAULT_WINDOW else 0


def mmio_arguments(window_mib: int) -> ET.Element | None:
    """``<qemu:commandline>`` that tells OVMF the window; None for 0. The domain becomes "tainted" by it, which is a line in a log."""
    if not window_mib:
        return None
    line = ET.Element(f"{{{QEMU_NAMESPACE}}}commandline")
    for word in ("-fw_cfg", f"name=opt/ovmf/X-PciMmio64Mb,string={window_mib}"):
        ET.SubElement(line, f"{{{QEMU_NAMESPACE}}}arg", value=word)
    return line


def without_hostdevs(root: ET.Element) -> ET.Element:
    """The domain without its PCI hostdevs, as it is stored. ``root`` itself is changed and returned."""
    devices = root.find("devices")
    if devices is not None:
        for one in devices.findall("hostdev[@type='pci']"):
            devices.remove(one)
    return root


def _hostdev(device: PciDevice, policy: HostdevPolicy, rom: Rom | None) -> ET.Element:
    managed = "yes" if policy is HostdevPolicy.MANAGED else "no"
    element = ET.Element("hostdev", mode="subsystem", type="pci", managed=managed)
    ET.SubElement(element, "driver", name="vfio")
    ET.SubElement(element, "source").append(address_element(device.address))
    if rom is not None and rom.is_off:
        ET.SubElement(element, "rom", bar="off")
    elif rom is not None and rom.file:
        ET.SubElement(element, "rom", bar="on", file=rom.file)
    return element
