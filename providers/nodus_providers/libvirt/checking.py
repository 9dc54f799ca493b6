"""What the doctor finds on each host: reached at all, its network, its folder, images; and all that findings.py says of hardware."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from nodus_providers.libvirt.connection import LibvirtError
from nodus_providers.libvirt.findings import ConnectionFacts, findings
from nodus_providers.libvirt.hardware import huge_page_bytes, whole_inventory_of
from nodus_providers.libvirt.hosts import Host
from nodus_providers.libvirt.shell import ScriptError
from nodusctl.base.diagnostics import Diagnostic, error, warning

if TYPE_CHECKING:
    from nodus_providers.libvirt.settings import ImageSettings

_CODE = "ProviderNotReady"
# With an argument, also what fetches images.
_MISSING = """for pair in qemu-img:qemu-utils virsh:libvirt-clients flock:util-linux sha256sum:coreutils; do
    command -v "${pair%%:*}" >/dev/null || echo "${pair##*:}"
done
[ $# = 0 ] || command -v curl >/dev/null || command -v wget >/dev/null || echo curl
"""
# What a deletion could not remove, or a crash left half made.
_LEFT_OVER = """cd "$1" 2>/dev/null || exit 0
for one in machines/m-*; do [ ! -d "$one" ] || [ -e "$one/machine.json" ] || echo "$one"; done
for one in disks/.away-* disks/.making-*; do [ ! -d "$one" ] || echo "$one"; done
"""


def findings_on(host: Host, images: Mapping[str, ImageSettings]) -> Iterator[Diagnostic]:
    """One diagnostic a finding; nothing for a healthy host."""
    try:
        facts = _facts(host)
    except (OSError, LibvirtError) as fault:
        yield _unreached(host, fault)
        return
    try:
        yield from _files(host, images)
    except (OSError, ScriptError) as fault:
        yield error(
            _CODE,
            "A host's folder can't be used",
            f"{host.zone}: {host.folder}: {fault}",
            "Log in as root, or set folder: to one of yours.",
        )
        return
    paths = [path for one in images.values() for path in (one.path, one.kernel, one.initrd) if path]
    try:
        yield from _network(host)
        yield from findings(whole_inventory_of(host, host.folder, *paths, *facts.rom_files), facts)
    except (OSError, LibvirtError) as fault:
        yield _unreached(host, fault)


def _unreached(host: Host, fault: Exception) -> Diagnostic:
    fix = "systemctl start libvirtd" if host.is_this_computer else f"virsh -c {host.settings.uri} uri"
    return error(_CODE, "A host's libvirt can't be reached", f"{host.settings.uri}: {fault}", f"Start it, or see what keeps it:\n  {fix}")


def _facts(host: Host) -> ConnectionFacts:
    host.connection.version()  # a daemon that hangs is told soon; what follows may take it a while
    capabilities, seconds = host.connection.look_at_itself()
    if seconds > 1:  # the first look fills libvirt's cache; only a second slow one means that it isn't kept
        capabilities, seconds = host.connection.look_at_itself()
    return ConnectionFacts(
        uri=host.settings.uri,
        has_kvm="<domain type='kvm'" in capabilities,
        is_emulation_wanted=host.domain_type_wish == "qemu",
        capability_seconds=seconds,
        page_bytes=huge_page_bytes(host),
        rom_files=tuple(rom for rom in host.settings.cards.roms.values() if rom != "off"),
    )


def _network(host: Host) -> Iterator[Diagnostic]:
    if host.settings.bridge is not None:
        return
    name = host.settings.network or "default"
    if not host.connection.is_network_active(name):
        virsh = "virsh" if host.is_this_computer else f"virsh -c {host.settings.uri}"
        fix = f"Start it, now and at each boot:\n  {virsh} net-start {name} && {virsh} net-autostart {name}"
        yield error(_CODE, "A host's network for machines is not active", f"{host.zone}: {name}", fix)


def _files(host: Host, images: Mapping[str, ImageSettings]) -> Iterator[Diagnostic]:
    from nodus_providers.libvirt.images import base_of
    from nodusctl.provider.replies import Refused

    _ = host.tag
    fetches = any(settings.url is not None for settings in images.values())
    missing = host.shell.run(_MISSING, *(("fetching",) if fetches else ())).split()
    if missing:
        yield error(
            _CODE, "A host lacks programs", f"{host.zone}: {' '.join(missing)}", f"On the host:\n  apt-get install {' '.join(missing)}"
        )
    for name, settings in images.items():
        if settings.path is not None:
            base = base_of(host, images, name)
            if isinstance(base, Refused):
                yield error(
                    base.code, "A base image can't be used", f"{host.zone}: {name}: {base.message}", "Put it there, or correct images:"
                )
    if left := host.shell.run(_LEFT_OVER, host.folder).split():
        folder = " ".join(f"{host.folder}/{one}" for one in left)
        yield warning(
            _CODE, "Files of deleted things are still on a host", f"{host.zone}: {', '.join(left)}", f"On the host:\n  rm -rf {folder}"
        )
