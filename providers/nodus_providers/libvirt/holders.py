"""Who has a card: a running domain, ours or not, or a process that has it open. Pure.

The claim on a card is a running machine. A domain that is only defined with it holds nothing; it is a warning, because it could not start.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from nodus_providers.libvirt.groups import Group
from nodus_providers.libvirt.host_probe import HostProbe
from nodus_providers.libvirt.pci import PciAddress

_VFIO_FOLDER = "/dev/vfio/"


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainClaim:
    """The PCI devices in a domain's XML. ``owner`` is the address of the object it belongs to where it is ours, else "".

    ``has_huge_pages`` where its memory is taken from those.
    """

    name: str
    uuid: str = ""
    owner: str = ""
    is_active: bool
    devices: frozenset[PciAddress]
    memory_bytes: int = 0
    has_huge_pages: bool = False
    pinned_cpus: frozenset[int] = frozenset()

    @property
    def holder(self) -> str:
        """How it is named as a holder: ``workspace/lab``, or ``domain other``."""
        return self.owner or f"domain {self.name}"


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has a card, and the command that makes it let go."""

    name: str
    fix: str


def read_claim(xml: str, *, is_active: bool, owner_of: Callable[[ET.Element], str] = lambda _: "") -> DomainClaim:
    """Read a domain: the live XML of one that runs, the inactive one of one that doesn't. ValueError for text that isn't a domain."""
    try:
        root = ET.fromstring(xml)
    except ET.ParseError as fault:
        raise ValueError(f"not a domain: {fault}") from fault
    return DomainClaim(
        name=root.findtext("name") or "",
        uuid=root.findtext("uuid") or "",
        owner=owner_of(root),
        is_active=is_active,
        devices=frozenset(_claimed(root)),
        memory_bytes=bytes_of(root.find("memory")),
        has_huge_pages=root.find("memoryBacking/hugepages") is not None,
        pinned_cpus=frozenset(cpu for pin in root.findall("cputune/vcpupin") for cpu in cpu_set(pin.get("cpuset", ""))),
    )


def holders_of(group: Group, claims: Iterable[DomainClaim], probe: HostProbe, virsh: str = "virsh") -> tuple[Holder, ...]:
    """Everybody who has something of ``group`` now; running domains first."""
    ends = {one.address for one in group.endpoints}
    running = [one for one in claims if one.is_active and one.devices & ends]
    if running:
        return tuple(Holder(one.holder, _stop_command(one, virsh)) for one in running)
    return tuple(_processes(group, ends, probe))


def merely_defined(group: Group, claims: Iterable[DomainClaim]) -> tuple[DomainClaim, ...]:
    """Domains that are off and name a device of ``group`` in their definition."""
    ends = {one.address for one in group.endpoints}
    return tuple(one for one in claims if not one.is_active and one.devices & ends)


def bytes_of(element: ET.Element | None) -> int:
    """A size with libvirt's ``unit``, KiB where it has none; 0 for no element."""
    if element is None or not (element.text or "").strip():
        return 0
    return int((element.text or "0").strip()) * UNITS[element.get("unit", "KiB")]


def cpu_set(text: str) -> frozenset[int]:
    """Read libvirt's notation of CPUs: ``0-3,^2,8``."""
    chosen: set[int] = set()
    without: set[int] = set()
    for part in filter(None, text.replace(" ", "").split(",")):
        first, _, last = part.lstrip("^").partition("-")
        (without if part.startswith("^") else chosen).update(range(int(first), int(last or first) + 1))
    return frozenset(chosen - without)


UNITS: Mapping[str, int] = {
    **dict.fromkeys(("b", "bytes"), 1),
    **{name: 1000**power for power, name in enumerate(("KB", "MB", "GB", "TB"), start=1)},
    **{
        name: 1024**power for power, names in enumerate((("k", "KiB"), ("M", "MiB"), ("G", "GiB"), ("T", "TiB")), start=1) for name in names
    },
}


def _claimed(root: ET.Element) -> Iterator[PciAddress]:
    for device in (*root.findall("devices/hostdev[@type='pci']"), *root.findall("devices/interface[@type='hostdev']")):
        address = device.find("source/address")
        if address is not None:
            yield PciAddress.of_element(address)


def _stop_command(claim: DomainClaim, virsh: str) -> str:
    name = claim.owner.partition("/")[2]
    return f"nodusctl stop {name}" if name else f"{virsh} shutdown {claim.name}"


def _processes(group: Group, ends: set[PciAddress], probe: HostProbe) -> Iterator[Holder]:
    found: dict[int, Holder] = {}
    for one in probe.open_files:
        is_group = group.number is not None and one.path == f"{_VFIO_FOLDER}{group.number}"
        if is_group or probe.nodes.get(one.path) in ends:
            found.setdefault(one.pid, Holder(f"process {one.pid} ({one.program})", _end_command(one.pid, one.program)))
    yield from found.values()


def _end_command(pid: int, program: str) -> str:
    unit = next((unit for name, unit in _SERVICES.items() if name[:_COMM_LENGTH] == program), "")
    return f"systemctl stop {unit}" if unit else f"kill {pid}"


_COMM_LENGTH = 15
"""The kernel cuts a program's name off there."""
_SERVICES = {
    "nvidia-persistenced": "nvidia-persistenced",
    "nvidia-powerd": "nvidia-powerd",
    "nv-hostengine": "nvidia-dcgm",
    **dict.fromkeys(("Xorg", "Xwayland", "gnome-shell", "kwin_wayland", "sddm-greeter", "gdm-x-session"), "display-manager"),
}
