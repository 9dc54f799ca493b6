"""What ``doctor`` finds on a host that cards are to be passed on, each with the command that mends it. Pure.

Only what keeps every machine from starting is an error; what concerns cards alone is a warning, because machines without cards still run.
Nothing is concluded from what nobody could look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nodus_providers.libvirt.card_findings import card_findings
from nodus_providers.libvirt.groups import HostdevPolicy
from nodus_providers.libvirt.host_probe import HostProbe
from nodus_providers.libvirt.inventory import HostInventory
from nodus_providers.libvirt.pci_models import is_screen
from nodusctl.base.diagnostics import Diagnostic, note, warning

_CODE = "ProviderNotReady"
_SLOW_SECONDS = 3.0
_ROM_FOLDERS = ("/usr/share/vgabios/", "/usr/share/qemu/", "/usr/share/kvm/", "/usr/share/seabios/")
"""What AppArmor's profile of QEMU lets every machine read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionFacts:
    """What the connection knows of itself.

    ``capability_seconds`` is how long a look-up of the hypervisor's capabilities took, 0 where none was made; ``has_kvm`` None where nobody
    asked; ``is_emulation_wanted`` where the settings ask for it. ``page_bytes`` are the huge pages machines are to use, 0 for none;
    ``rom_files`` are named in the settings.
    """

    uri: str
    has_kvm: bool | None = None
    is_emulation_wanted: bool = False
    capability_seconds: float = 0.0
    page_bytes: int = 0
    rom_files: tuple[str, ...] = ()


def findings(inventory: HostInventory, connection: ConnectionFacts) -> Iterator[Diagnostic]:
    """Everything, the most general first; each says which host it speaks of."""
    for one in (*_host_findings(inventory, connection), *card_findings(inventory)):
        yield replace(one, detail=f"{connection.uri}: {one.detail}")


def _host_findings(inventory: HostInventory, connection: ConnectionFacts) -> Iterator[Diagnostic]:
    yield from _probe_findings(inventory.probe)
    yield from _kvm_findings(inventory.probe, connection)
    yield from _iommu_findings(inventory)
    yield from _vfio_findings(inventory)
    yield from _page_findings(inventory, connection)
    yield from _path_findings(inventory.probe, connection)


def _probe_findings(probe: HostProbe) -> Iterator[Diagnostic]:
    if not probe.is_complete:
        detail = "its files can't be read, so kernel line, permissions and who uses a card are not known."
        yield note(_CODE, "A host could only be looked at through libvirt", detail, "Reach it over qemu+ssh:// as root, or run on it.")
    elif not probe.is_root:
        detail = f"user {probe.user} doesn't see other users' processes, so a card that one of them uses looks free."
        yield note(_CODE, "Not every process of a host can be seen", detail, "Reach it as root.")


def _kvm_findings(probe: HostProbe, connection: ConnectionFacts) -> Iterator[Diagnostic]:
    if connection.capability_seconds > _SLOW_SECONDS:
        yield _slow(probe, connection)
    if connection.is_emulation_wanted or connection.has_kvm is None:
        return
    if probe.is_complete and not probe.has_virtualization:
        detail = "its CPU shows neither svm nor vmx, so machines are emulated and about twenty times slower."
        fix = "Switch on SVM or VT-x in the firmware; in a virtual machine, nested virtualization of its host. Or accept it:\n"
        yield warning(_CODE, "A host has no hardware virtualization", detail, f"{fix}  domainType: qemu")
    elif not connection.has_kvm:
        detail = "the CPU can virtualize and libvirt offers no KVM."
        module = "kvm_intel" if "Intel" in probe.cpu else "kvm_amd"
        yield warning(_CODE, "A host doesn't use its hardware virtualization", detail, f"As root on the host:\n  modprobe {module}")


def _slow(probe: HostProbe, connection: ConnectionFacts) -> Diagnostic:
    detail = f"a look-up of QEMU's capabilities took {connection.capability_seconds:.1f} s instead of hundredths."
    group = probe.kvm_owner.partition(":")[2]
    is_shut = bool(probe.kvm_mode) and probe.kvm_mode.zfill(3)[-1] in "0145" and (probe.kvm_mode.zfill(3)[-2] in "0145" or group != "kvm")
    if is_shut:
        detail += f" /dev/kvm is {probe.kvm_mode} {probe.kvm_owner}, so {probe.qemu_user or 'the user of QEMU'} can't open it, and libvirt "
        detail += "throws its cached answers away each time."
        return warning(_CODE, "Each start probes QEMU anew", detail, "As root on the host:\n  chgrp kvm /dev/kvm && chmod 0660 /dev/kvm")
    return warning(_CODE, "Each start probes QEMU anew", detail, "See what the daemon does:\n  journalctl -u libvirtd -g virQEMUCaps")


def _iommu_findings(inventory: HostInventory) -> Iterator[Diagnostic]:
    ungrouped = [card for group in inventory.groups if group.number is None for card in group.cards if not is_screen(card)]
    if not ungrouped or inventory.probe.iommu_groups or (not inventory.probe.is_complete and inventory.has_iommu):
        return
    cards = ", ".join(str(card.address) for card in ungrouped)
    probe = inventory.probe
    if not probe.is_complete:
        fix = "Switch on VT-d or AMD-Vi in the firmware and add intel_iommu=on iommu=pt (Intel) to the kernel's line, then reboot."
        yield warning(_CODE, "The IOMMU of a host is off", f"no card can be passed: {cards} in no IOMMU group.", fix)
    elif not probe.tables:
        detail = f"no card can be passed ({cards}): the firmware tells the kernel of no IOMMU (no DMAR or IVRS table)."
        fix = "Switch on VT-d (Intel) or AMD-Vi (AMD, also called IOMMU) in the firmware's setup. In a virtual machine, give it one:\n"
        yield warning(_CODE, "The IOMMU of a host is off in its firmware", detail, f"{fix}  <iommu model='intel'/>")
    else:
        detail = (
            f"no card can be passed ({cards}): the firmware has an IOMMU and the kernel doesn't use it. Its line is: {probe.kernel_line}."
        )
        yield warning(_CODE, "The IOMMU of a host is off in its kernel", detail, _kernel_fix(probe))


def _kernel_fix(probe: HostProbe) -> str:
    words = probe.kernel_line.split()
    if off := [word for word in words if word in {"amd_iommu=off", "intel_iommu=off", "iommu=off"}]:
        return f"Take {' and '.join(off)} out of /etc/default/grub, then as root on the host:\n  update-grub && reboot"
    if "DMAR" in probe.tables and "intel_iommu=on" not in words:
        return _grub("intel_iommu=on iommu=pt")
    return "See why, as root on the host:\n  dmesg | grep -iE 'dmar|amd-vi|iommu'"


def _grub(words: str) -> str:
    edit = f"""sed -i 's/^GRUB_CMDLINE_LINUX="/&{words} /' /etc/default/grub"""
    return f"As root on the host:\n  {edit}\n  update-grub && reboot"


def _vfio_findings(inventory: HostInventory) -> Iterator[Diagnostic]:
    probe = inventory.probe
    if not inventory.offered or not probe.is_complete:
        return
    if faked := [word for word in probe.kernel_line.split() if word.startswith("pcie_acs_override=")]:
        detail = f"its kernel is told {faked[0]}: a machine with a card may reach its neighbours' memory, whatever the groups say."
        fix = f"Take {faked[0]} out of /etc/default/grub, then as root on the host:\n  update-grub && reboot"
        yield warning(_CODE, "A host only pretends that its cards are isolated", detail, fix)
    state = probe.modules.get("vfio_pci", "")
    if state == "missing":
        detail = f"kernel {probe.kernel} has no vfio-pci, which holds a card for a machine."
        fix = "Boot a kernel that has it, as root on the host:\n  apt-get install linux-image-amd64 && reboot"
        yield warning(_CODE, "A host's kernel can't pass cards", detail, fix)
    elif state == "available" and inventory.rules.policy is HostdevPolicy.LEAVE_ON_VFIO:
        detail = "the policy leave-on-vfio leaves binding to the host, and vfio-pci isn't loaded there."
        fix = "As root on the host:\n  echo vfio-pci > /etc/modules-load.d/vfio-pci.conf && modprobe vfio-pci"
        yield warning(_CODE, "A host doesn't load vfio-pci", detail, fix)


def _page_findings(inventory: HostInventory, connection: ConnectionFacts) -> Iterator[Diagnostic]:
    size = connection.page_bytes
    if not size:
        return
    for cell in inventory.cells:
        total, free = cell.pages.get(size, 0), cell.free_pages.get(size, 0)
        if total and free:
            continue
        what = "none is free" if total else "none is set aside"
        detail = f"NUMA cell {cell.id}: {total} pages of {size // 1024} kB, and {what}. A machine with huge pages can't start there."
        folder = f"/sys/devices/system/node/node{cell.id}/hugepages/hugepages-{size // 1024}kB"
        half = max(cell.memory_bytes // 2 // size, 1)
        fix = f"Stop a machine, or set more aside, as root on the host:\n  echo {total + half if total else half} > {folder}/nr_hugepages"
        yield warning(_CODE, "A NUMA cell has no free huge pages", detail, fix)


def _path_findings(probe: HostProbe, connection: ConnectionFacts) -> Iterator[Diagnostic]:
    user = probe.qemu_user
    for one in probe.paths:
        if one.kind == "directory" and probe.is_shut(one.path, 1):
            detail = f"{one.path} is {one.mode} {one.owner}:{one.group}: {user} can't reach what lies in it."
            fix = f"As root on the host:\n  setfacl -m u:{user}:x {one.path}\nOr put the images under /var/lib/libvirt/images."
            yield warning(_CODE, "QEMU can't reach an image", detail, fix)
    for rom in connection.rom_files:
        if probe.is_missing(rom):
            fix = f"Put it there, or take it out of the settings:\n  ls -l {rom}"
            yield warning(_CODE, "A ROM file is not there", f"{rom}: cards.roms names it.", fix)
        elif probe.is_shut(rom, 4):
            detail = f"{rom} can't be read by {user}, as whom QEMU runs."
            yield warning(_CODE, "QEMU can't read a ROM file", detail, f"As root on the host:\n  chmod a+r {rom}")
        if probe.has_apparmor and not rom.startswith(_ROM_FOLDERS):
            detail = (
                f"{rom}: AppArmor lets a machine read disks that are named in it, and ROM files only in folders such as {_ROM_FOLDERS[0]}."
            )
            name = rom.rpartition("/")[2]
            fix = f"As root on the host, then name the new path:\n  install -D -m 0644 {rom} {_ROM_FOLDERS[0]}{name}"
            yield warning(_CODE, "AppArmor keeps a ROM file from QEMU", detail, fix)
