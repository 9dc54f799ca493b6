"""A machine as libvirt's domain XML. Pure: values in, an element out.

What stands here is all that we set; everything else is libvirt's to fill in, and no difference when drift is looked for.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field

from nodus_providers.libvirt.connection import NAMESPACE
from nodus_providers.libvirt.hostdevs import cpu_tuning, hidden_hypervisor, memory_backing, mmio_arguments, numa_tuning
from nodus_providers.libvirt.images import Base
from nodus_providers.libvirt.numa import Seat
from nodus_providers.libvirt.records import MachineRecord, mac_of

HOME_SERIAL = "nodus-home"
_GUEST_AGENT = "org.qemu.guest_agent.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFile:
    """A qcow2 on the host that a machine gets beside its own: ``serial`` is how the guest finds it."""

    path: str
    serial: str
    is_read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a domain is made of. ``network`` or ``bridge``; ``hostdevs`` are for the start only and not part of what is stored."""

    uuid: str
    record: MachineRecord
    folder: str
    base: Base
    domain_type: str
    emulated_cpu: str
    network: str = "default"
    bridge: str = ""
    disks: tuple[DiskFile, ...] = ()
    seat: Seat = field(default_factory=Seat)
    hostdevs: tuple[ET.Element, ...] = ()
    is_hidden: bool = False
    mmio_window_mib: int = 0


def domain_xml(shape: Shape, *, with_hostdevs: bool = False) -> str:
    """The definition; with the cards of its start where ``with_hostdevs``."""
    record = shape.record
    root = ET.Element("domain", type=shape.domain_type)
    _leaf(root, "uuid", shape.uuid)
    _leaf(root, "name", record.name)
    mark = ET.SubElement(ET.SubElement(root, "metadata"), f"{{{NAMESPACE}}}machine", id=record.id, token=record.token)
    mark.text = record.text()
    _leaf(root, "memory", str(record.memory_bytes // 1024), unit="KiB")
    _add(root, memory_backing(shape.seat), numa_tuning(shape.seat))
    _leaf(root, "vcpu", str(record.vcpus))
    _add(root, cpu_tuning(shape.seat))
    _add_boot(root, shape)
    features = ET.SubElement(root, "features")
    ET.SubElement(features, "acpi")
    ET.SubElement(features, "apic")
    if shape.is_hidden:
        features.extend(hidden_hypervisor())
    _add_cpu(root, shape)
    ET.SubElement(root, "clock", offset="utc")
    _leaf(root, "on_poweroff", "destroy")
    _leaf(root, "on_reboot", "restart")
    _leaf(root, "on_crash", "destroy")
    root.append(_devices(shape, with_hostdevs=with_hostdevs))
    _add(root, mmio_arguments(shape.mmio_window_mib))
    return ET.tostring(root, encoding="unicode")


def _add_boot(root: ET.Element, shape: Shape) -> None:
    base = shape.base
    firmware = {"firmware": "efi"} if base.firmware == "efi" and not base.kernel else {}
    boot = ET.SubElement(root, "os", firmware)
    _leaf(boot, "type", "hvm", arch="x86_64", machine="q35")
    if firmware:
        # With secure boot, which libvirt would choose where it can, neither our loader nor a driver built for a card is let in.
        wishes = ET.SubElement(boot, "firmware")
        for name in ("enrolled-keys", "secure-boot"):
            ET.SubElement(wishes, "feature", enabled="no", name=name)
    if base.kernel:
        _leaf(boot, "kernel", base.kernel)
        if base.initrd:
            _leaf(boot, "initrd", base.initrd)
        _leaf(boot, "cmdline", base.cmdline)
    else:
        ET.SubElement(boot, "boot", dev="hd")


def _add_cpu(root: ET.Element, shape: Shape) -> None:
    if shape.domain_type == "kvm":
        ET.SubElement(root, "cpu", mode="host-passthrough")
    else:
        _leaf(ET.SubElement(root, "cpu", mode="custom"), "model", shape.emulated_cpu)


def _devices(shape: Shape, *, with_hostdevs: bool) -> ET.Element:
    devices = ET.Element("devices")
    files = (DiskFile(path=f"{shape.folder}/root.qcow2", serial="nodus-root"), *shape.disks)
    for letter, file in zip("abcdefgh", files, strict=False):
        devices.append(disk_element(file, f"vd{letter}"))
    seed = ET.SubElement(devices, "disk", type="file", device="disk")
    ET.SubElement(seed, "driver", name="qemu", type="raw")
    ET.SubElement(seed, "source", file=f"{shape.folder}/{shape.record.seed}")
    ET.SubElement(seed, "target", dev="vdz", bus="virtio")
    ET.SubElement(seed, "readonly")
    card = ET.SubElement(devices, "interface", type="bridge" if shape.bridge else "network")
    ET.SubElement(card, "mac", address=mac_of(shape.record.id))
    ET.SubElement(card, "source", {"bridge": shape.bridge} if shape.bridge else {"network": shape.network})
    ET.SubElement(card, "model", type="virtio")
    serial = ET.SubElement(devices, "serial", type="pty")
    ET.SubElement(serial, "log", file=f"{shape.folder}/console.log", append="on")
    ET.SubElement(serial, "target", port="0")
    channel = ET.SubElement(devices, "channel", type="unix")
    ET.SubElement(channel, "target", type="virtio", name=_GUEST_AGENT)
    _leaf(ET.SubElement(devices, "rng", model="virtio"), "backend", "/dev/urandom", model="random")
    ET.SubElement(ET.SubElement(devices, "video"), "model", type="none")
    # Pinned memory can't be given back, and nobody asks ours to.
    ET.SubElement(devices, "memballoon", model="none")
    if with_hostdevs:
        devices.extend(shape.hostdevs)
    return devices


def disk_element(file: DiskFile, target: str) -> ET.Element:
    """One qcow2 as a virtio disk."""
    disk = ET.Element("disk", type="file", device="disk")
    ET.SubElement(disk, "driver", name="qemu", type="qcow2", discard="unmap")
    ET.SubElement(disk, "source", file=file.path)
    ET.SubElement(disk, "target", dev=target, bus="virtio")
    _leaf(disk, "serial", file.serial)
    if file.is_read_only:
        ET.SubElement(disk, "readonly")
    return disk


def disk_target(xml: str, path: str) -> str:
    """The target name (``vdb``) of the disk at ``path`` in a domain's XML; "" where it has none."""
    for disk in ET.fromstring(xml).iterfind("devices/disk"):
        source, target = disk.find("source"), disk.find("target")
        if source is not None and target is not None and source.get("file") == path:
            return target.get("dev", "")
    return ""


def disk_device(xml: str, path: str) -> str:
    """The disk element at ``path`` as text; "" where there is none."""
    for disk in ET.fromstring(xml).iterfind("devices/disk"):
        source = disk.find("source")
        if source is not None and source.get("file") == path:
            return ET.tostring(disk, encoding="unicode")
    return ""


def _leaf(parent: ET.Element, tag: str, text: str, **attributes: str) -> None:
    ET.SubElement(parent, tag, attributes).text = text


def _add(parent: ET.Element, *found: ET.Element | None) -> None:
    parent.extend(_present(found))


def _present(found: Sequence[ET.Element | None]) -> list[ET.Element]:
    return [one for one in found if one is not None]
