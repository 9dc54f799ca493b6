"""What a look at a host's own files gives, beside what libvirt tells: reset methods, who has a card open, kernel line, permissions.

``PROBE`` is a POSIX-sh script that only reads; whoever holds the connection runs it there and hands its output to ``read_probe``. Where
nobody can run it, an empty ``HostProbe`` stands for "not known", and nothing is concluded from it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from nodus_providers.libvirt.pci import PciAddress

_EXTENDED_CONFIG = 0x100
_SERIAL_CAPABILITY = 0x0003
_HEADER_BYTES = 64


@functools.lru_cache(maxsize=1)
def probe_script() -> str:
    """The script; its arguments are paths whose permissions are asked about."""
    return (Path(__file__).parent / "host_probe.sh").read_text(encoding="utf-8")


def cards_script() -> str:
    """The script without what only the doctor reads: kernel, modules, virtualization; users where paths are asked about."""
    return f"cards_only=yes\n{probe_script()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFacts:
    """One device as sysfs shows it. ``bars`` are sizes in bytes, the largest first; ``serial`` is its PCIe serial number or "".

    ``answers`` is False where its configuration space can't be read or reads as ones, None where nobody looked.
    """

    reset_methods: tuple[str, ...] = ()
    power_state: str = ""
    is_boot_screen: bool = False
    bars: tuple[int, ...] = ()
    serial: str = ""
    answers: bool | None = None


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A process that has a card's device file open."""

    path: str
    pid: int
    program: str


@dataclass(frozen=True, slots=True)
class PathFacts:
    """A file or folder: mode as octal digits, owner and group; ``mode`` is "" where there is nothing."""

    path: str
    mode: str = ""
    owner: str = ""
    group: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostProbe:
    """Everything of one run. ``is_complete`` is False for a run that was cut off, and for none.

    ``available`` is by NUMA cell: bytes that are free or hold nothing but copies of files.
    """

    is_complete: bool = False
    user: str = ""
    is_root: bool = False
    kernel: str = ""
    kernel_line: str = ""
    cpu: str = ""
    iommu_groups: int = 0
    tables: frozenset[str] = frozenset()
    modules: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    has_virtualization: bool = False
    kvm_mode: str = ""
    kvm_owner: str = ""
    has_apparmor: bool = False
    qemu_user: str = ""
    qemu_groups: frozenset[str] = frozenset()
    devices: Mapping[PciAddress, DeviceFacts] = field(default_factory=lambda: MappingProxyType({}))
    nodes: Mapping[str, PciAddress] = field(default_factory=lambda: MappingProxyType({}))
    open_files: tuple[OpenFile, ...] = ()
    quarantine: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    available: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    paths: tuple[PathFacts, ...] = ()

    def facts(self, address: PciAddress) -> DeviceFacts:
        """Of one device; empty where it wasn't looked at."""
        return self.devices.get(address, DeviceFacts())

    def is_missing(self, path: str) -> bool:
        """True for a path that was asked about and isn't there. Only root can say so: another user may just not see it."""
        return self.is_root and any(one.path == path and not one.mode for one in self.paths)

    def is_shut(self, path: str, bit: int) -> bool:
        """True where the user of QEMU has no permission ``bit`` (4 to read, 1 to pass) on a path that was asked about."""
        facts = next((one for one in self.paths if one.path == path), None)
        if facts is None or not facts.mode or self.qemu_user in ("", "root"):
            return False
        digits = [int(digit) for digit in facts.mode.zfill(3)[-3:]]
        if facts.owner == self.qemu_user:
            return not digits[0] & bit
        return not digits[1 if facts.group in self.qemu_groups else 2] & bit


UNPROBED = HostProbe()


def read_probe(text: str) -> HostProbe:
    """Read the script's output. A line that isn't understood is skipped: a newer script may say more."""
    lines = [line.split("\t") for line in text.replace("\n ", "").splitlines() if line]
    one = {words[0]: words[1:] for words in lines}
    kernel, kvm = _padded(one.get("kernel", ()), 2), _padded(one.get("kvm", ()), 2)
    user, qemu = _padded(one.get("user", ()), 2), _padded(one.get("qemu_user", ()), 2)
    return HostProbe(
        is_complete="end" in one,
        user=user[1],
        is_root=user[0] == "0",
        kernel=kernel[0],
        kernel_line=kernel[1],
        cpu=_padded(one.get("cpu", ()), 1)[0],
        iommu_groups=_number(_padded(one.get("groups", ()), 1)[0]),
        tables=frozenset(words[1] for words in lines if words[0] == "table" and len(words) > 1 and words[1]),
        modules={words[1]: words[2] for words in lines if words[0] == "module" and len(words) > 2},
        has_virtualization=one.get("virtualization") == ["yes"],
        kvm_mode=kvm[0],
        kvm_owner=kvm[1],
        has_apparmor=one.get("apparmor") == ["on"],
        qemu_user=qemu[0],
        qemu_groups=frozenset(qemu[1].split()),
        devices=_devices(lines),
        nodes={words[1]: address for words in lines if words[0] == "node" and (address := _address(words, 2)) is not None},
        open_files=tuple(_open_files(lines)),
        available={
            int(words[1]): _number(words[2]) * 1024 for words in lines if words[0] == "memory" and len(words) > 2 and words[1].isdigit()
        },
        quarantine={words[1]: _padded(words, 3)[2] for words in lines if words[0] == "quarantine" and len(words) > 1},
        paths=tuple(dict.fromkeys(PathFacts(*words[1:6]) for words in lines if words[0] == "path" and len(words) > 1)),
    )


def serial_in(config: str) -> str:
    """The PCIe device serial number in a hex dump of the configuration space, as ``00-11-22-…``; "" where it has none."""
    found = bytes.fromhex(config)
    at = _EXTENDED_CONFIG
    for _ in range(64):
        if at < _EXTENDED_CONFIG or at + 12 > len(found):
            return ""
        header = int.from_bytes(found[at : at + 4], "little")
        if header & 0xFFFF == _SERIAL_CAPABILITY:
            return "-".join(f"{byte:02x}" for byte in reversed(found[at + 4 : at + 12]))
        at = header >> 20
    return ""


def _devices(lines: list[list[str]]) -> dict[PciAddress, DeviceFacts]:
    bars: dict[PciAddress, list[int]] = {}
    config: dict[PciAddress, str] = {}
    for words in lines:
        address = _address(words, 1)
        if address is None:
            continue
        if words[0] == "bar" and len(words) > 3:
            start, end = int(words[2], 16), int(words[3], 16)
            bars.setdefault(address, []).append(end - start + 1 if end > start else 0)
        elif words[0] == "config":
            config[address] = words[2].replace(" ", "") if len(words) > 2 else ""
    found = {}
    for words in lines:
        address = _address(words, 1)
        if words[0] != "device" or address is None:
            continue
        reset, power, screen = _padded(words, 5)[2:5]
        found[address] = DeviceFacts(
            reset_methods=tuple(reset.split()),
            power_state=power,
            is_boot_screen=screen == "1",
            bars=tuple(sorted((size for size in bars.get(address, ()) if size), reverse=True)),
            serial=serial_in(config[address]) if _answers(config.get(address, "")) else "",
            answers=_answers(config[address]) if address in config else None,
        )
    return found


def _answers(config: str) -> bool:
    """A device that fell off the bus reads as nothing but ones."""
    header = config[: 2 * _HEADER_BYTES]
    return len(header) == 2 * _HEADER_BYTES and set(header) != {"f"}


def _open_files(lines: list[list[str]]) -> Iterator[OpenFile]:
    for words in lines:
        if words[0] == "open" and len(words) > 3 and words[2].isdigit():
            yield OpenFile(words[1], int(words[2]), words[3])


def _address(words: list[str], at: int) -> PciAddress | None:
    try:
        return PciAddress.parse(words[at])
    except (ValueError, IndexError):
        return None


def _padded(words: list[str] | tuple[str, ...], count: int) -> list[str]:
    return [*words, *[""] * (count - len(words))]


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
