"""A GPU host as texts: node devices, domains, capabilities and the probe's output, as libvirt and the host would give them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from nodus_providers.libvirt.inventory import HardwareRules, HostInventory, HostTexts, read_inventory
from nodus_providers.libvirt.offers import HostShape, offers_of
from nodus_providers.libvirt.pci import PciAddress
from nodusctl.base.money import Money
from nodusctl.provider.offers import Offer
from support.planning import NOW

MIB, GIB = 2**20, 2**30
ADA = "10de:2684"
H200 = "10de:2335"
AUDIO = "10de:22ba"
GPU, SOUND, USB, NETWORK, BRIDGE, NVSWITCH = "030000", "040300", "0c0330", "020000", "060400", "068000"
COMPUTE = "030200"
FIRST, FIRST_AUDIO = "0000:01:00.0", "0000:01:00.1"


@dataclass(frozen=True, kw_only=True)
class Node:
    """One PCI function."""

    address: str
    class_code: str = GPU
    ids: str = ADA
    driver: str = ""
    group: int | None = 1
    numa: int | None = None
    name: str = "a device"
    physical: str = ""
    virtual: tuple[str, ...] = ()

    def xml(self, nodes: Sequence[Node]) -> str:
        """As libvirt lists it among ``nodes``."""
        at = PciAddress.parse(self.address)
        vendor, product = self.ids.split(":")
        members = "".join(_hex(PciAddress.parse(one.address)) for one in nodes if one.group == self.group)
        group = f"<iommuGroup number='{self.group}'>{members}</iommuGroup>" if self.group is not None else ""
        split = "".join(_hex(PciAddress.parse(one)) for one in self.virtual)
        return f"""<device><name>{at.node_name}</name><parent>computer</parent>
{f"<driver><name>{self.driver}</name></driver>" if self.driver else ""}<capability type='pci'><class>0x{self.class_code}</class>
<domain>{at.domain}</domain><bus>{at.bus}</bus><slot>{at.slot}</slot><function>{at.function}</function>
<product id='0x{product}'>{self.name}</product><vendor id='0x{vendor}'>A vendor</vendor>
{"<capability type='pci-bridge'/>" if self.class_code == BRIDGE else ""}
{f"<capability type='phys_function'>{_hex(PciAddress.parse(self.physical))}</capability>" if self.physical else ""}
{f"<capability type='virt_functions' maxCount='16'>{split}</capability>" if self.virtual else ""}
{group}{f"<numa node='{self.numa}'/>" if self.numa is not None else ""}</capability></device>"""


def card(number: int, *, driver: str = "", numa: int | None = None, audio: str | None = None, ids: str = ADA) -> tuple[Node, ...]:
    """A card in a group of its own at ``0000:0N:00.0``; ``audio`` is its audio function's driver, None for no such function."""
    gpu = Node(address=f"0000:{number:02x}:00.0", ids=ids, driver=driver, group=number, numa=numa)
    if audio is None:
        return (gpu,)
    return gpu, Node(address=f"0000:{number:02x}:00.1", class_code=SOUND, ids=AUDIO, driver=audio, group=number, numa=numa)


def domain(name: str, *addresses: str, memory_gib: int = 1, owner: str = "") -> str:
    """A domain that has these devices."""
    mark = f"<metadata><owner address='{owner}'/></metadata>" if owner else ""
    parts = "".join(
        f"<hostdev mode='subsystem' type='pci' managed='yes'><source>{_hex(PciAddress.parse(one))}</source></hostdev>" for one in addresses
    )
    return f"""<domain type='kvm'><name>{name}</name><uuid>11111111-2222-3333-4444-{zlib.crc32(name.encode()):012d}</uuid>{mark}
<memory unit='GiB'>{memory_gib}</memory><vcpu>2</vcpu><devices>{parts}</devices></domain>"""


def capabilities(*cells_gib: int, pages: int = 0, iommu: str = "yes") -> str:
    """A host of that many cells, four CPUs each, with ``pages`` huge pages of 2 MiB each."""
    cells = "".join(
        f"""<cell id='{number}'><memory unit='KiB'>{gib * 2**20}</memory><pages unit='KiB' size='4'>1000</pages>
<pages unit='KiB' size='2048'>{pages}</pages><cpus num='4'>{"".join(f"<cpu id='{number * 4 + cpu}'/>" for cpu in range(4))}</cpus></cell>"""
        for number, gib in enumerate(cells_gib)
    )
    topology = f"<topology><cells num='{len(cells_gib)}'>{cells}</cells></topology>"
    return f"<capabilities><host><uuid>u</uuid>{topology}<iommu support='{iommu}'/></host></capabilities>"


@dataclass(kw_only=True)
class GpuHost:
    """A host whose parts a test changes."""

    nodes: list[Node] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    probe: list[str] = field(default_factory=list)
    capabilities: str = field(default_factory=lambda: capabilities(64))
    free_pages: dict[int, dict[int, int]] = field(default_factory=dict)
    free_bytes: dict[int, int] = field(default_factory=dict)
    rules: HardwareRules = field(default_factory=HardwareRules)
    page_bytes: int = 0

    def inventory(self) -> HostInventory:
        """What the provider sees of it."""
        domains = (*((xml, True) for xml in self.running), *((xml, False) for xml in self.stopped))
        texts = HostTexts(
            devices=tuple(one.xml(self.nodes) for one in self.nodes),
            capabilities=self.capabilities,
            domains=domains,
            probe=probe(*self.probe) if self.probe else "",
            free_pages=self.free_pages,
            free_bytes=self.free_bytes,
        )
        return read_inventory(texts, self.rules, owner_of=_owner)

    def offers(self, rate: str | None = "0.50") -> tuple[Offer, ...]:
        """What it offers as the instance ``metal``."""
        return offers_of(replace(shape(rate), page_bytes=self.page_bytes), self.inventory(), NOW)


def shape(rate: str | None = "0.50") -> HostShape:
    """16 cores and 64 GiB."""
    return HostShape(
        instance="metal",
        zone="gpu1",
        location="host-1",
        cpu_milli=16000,
        memory_bytes=64 * GIB,
        rate=Money.parse(rate) if rate is not None else None,
        startup_p50=timedelta(seconds=40),
        startup_p90=timedelta(seconds=90),
    )


def probe(*lines: str) -> str:
    """The probe's output for root on an Intel host that is well, with these lines (fields separated by ``|``) instead or besides."""
    usual = ["user|0|root", "kernel|6.1.0-30-amd64|root=/dev/sda1 intel_iommu=on iommu=pt", "groups|40", "table|DMAR"]
    usual += ["module|vfio_pci|available", "virtualization|yes", "cpu|GenuineIntel", "kvm|660|root:kvm"]
    usual += ["qemu_user|libvirt-qemu|libvirt-qemu kvm"]
    given = {line.partition("|")[0] for line in lines}
    return "\n".join(line.replace("|", "\t") for line in (*(one for one in usual if one.partition("|")[0] not in given), *lines, "end"))


def config_space(*, serial: int | None = None) -> str:
    """A hex dump of a configuration space, with a serial number where one is given."""
    space = bytearray(4096)
    space[0:4] = bytes.fromhex("de108426")
    if serial is not None:
        space[0x100:0x104] = (0x0001 | 0x140 << 20).to_bytes(4, "little")
        space[0x140:0x144] = (0x0003).to_bytes(4, "little")
        space[0x144:0x14C] = serial.to_bytes(8, "little")
    return space.hex()


def write_test_node(path: Path, nodes: Iterable[Node]) -> str:
    """A file for libvirt's test driver with these devices; returns the URI that opens it."""
    listed = list(nodes)
    devices = "\n".join(one.xml(listed) for one in listed)
    path.write_text(f"""<node><cpu><mhz>2600</mhz><model>x86_64</model><active>16</active><nodes>1</nodes><sockets>1</sockets><cores>16</cores>
<threads>1</threads></cpu><memory>67108864</memory>
<device><name>computer</name><capability type='system'><hardware><vendor>test</vendor><version>1</version><serial>1</serial>
<uuid>11111111-2222-3333-4444-555555555555</uuid></hardware><firmware><vendor>x</vendor><version>1</version><release_date>x</release_date>
</firmware></capability></device>{devices}</node>""")
    return f"test://{path}"


def _hex(at: PciAddress) -> str:
    return f"<address domain='0x{at.domain:04x}' bus='0x{at.bus:02x}' slot='0x{at.slot:02x}' function='0x{at.function:x}'/>"


def _owner(root: ET.Element) -> str:
    found = root.find("metadata/owner")
    return found.get("address", "") if found is not None else ""
