"""One host: how it is reached, where its files lie, what it is called. Reached lazily; nothing happens before the first call.

A host is known by a tag that lies in its folder and is part of every id made there. So another machine behind the same address, or a host
that was taken out of the settings, is never mistaken for one that has lost our machines.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from nodus_providers.libvirt.connection import Connection
from nodus_providers.libvirt.locks import Locks
from nodus_providers.libvirt.shell import HostError, HostShell
from nodusctl.base.clock import Wall
from nodusctl.provider.contract import ProviderContext

if TYPE_CHECKING:
    from nodus_providers.libvirt.settings import HostSettings

_ID = re.compile(r"[md]-([0-9a-f]{8})-[0-9a-f]{12}\Z")
_GONE_KEPT_DAYS = 400
# Makes the folders and the host's tag, once; prints the tag. The folders can be passed through, for QEMU may run as another user.
_PREPARE = """set -eu
mkdir -p "$1"; cd "$1"; chmod 0711 .
for part in machines disks images gone; do mkdir -p $part; chmod 0711 $part; done
chmod 0700 gone
if [ ! -s host-id ]; then
    od -An -N4 -tx1 /dev/urandom | tr -d ' \\n' >".host-id.$$"
    ln ".host-id.$$" host-id 2>/dev/null || :
    rm -f ".host-id.$$"; sync
fi
cat host-id
find gone -type f -mtime +"$2" -delete
grep -qwE 'vmx|svm' /proc/cpuinfo && [ -e /dev/kvm ] && echo ' kvm' || echo ' emulation'
"""


def tag_in(thing_id: str) -> str:
    """The tag of the host a machine or disk was made on; "" for an id that none of ours can be."""
    found = _ID.match(thing_id)
    return found[1] if found else ""


@dataclass(frozen=True)
class Host:
    """One host of the settings. ``zone`` is its name in offers."""

    zone: str
    settings: HostSettings
    connection: Connection
    shell: HostShell
    locks: Locks
    wall: Wall
    is_this_computer: bool
    domain_type_wish: str
    _facts: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Where our files lie on the host."""
        return self.settings.folder

    @property
    def tag(self) -> str:
        """Eight hex digits that name this host. HostError where it can't be asked."""
        return self._prepared()["tag"]

    @property
    def location(self) -> str:
        """Where disks made here can be attached."""
        return f"{self.zone}-{self.tag}"

    @property
    def domain_type(self) -> str:
        """``kvm`` where the processor can, else ``qemu``. A /dev/kvm that opens proves nothing."""
        if self.domain_type_wish != "auto":
            return self.domain_type_wish
        return "kvm" if self._prepared()["virtualization"] == "kvm" else "qemu"

    def machine_folder(self, machine_id: str) -> str:
        """Where a machine's files lie."""
        return f"{self.folder}/machines/{_plain(machine_id)}"

    def disk_folder(self, disk_id: str) -> str:
        """Where a disk and its revisions lie."""
        return f"{self.folder}/disks/{_plain(disk_id)}"

    def _prepared(self) -> Mapping[str, str]:
        if not self._facts:
            tag, _, virtualization = self.shell.run(_PREPARE, self.folder, str(_GONE_KEPT_DAYS)).strip().partition(" ")
            if not re.fullmatch(r"[0-9a-f]{8}", tag):
                raise HostError(f"{self.folder}/host-id on {self.zone} holds no tag of eight hex digits")
            self._facts.update(virtualization=virtualization.strip(), tag=tag)
        return self._facts


def open_hosts(context: ProviderContext, settings: tuple[HostSettings, ...]) -> tuple[Host, ...]:
    """The hosts of the settings. Only small files of this computer are written."""
    return tuple(_opened(context, one) for one in settings)


def _opened(context: ProviderContext, settings: HostSettings) -> Host:
    from nodus_providers.libvirt.settings import zone_of

    zone, parts = zone_of(settings), urlsplit(settings.uri)
    own = Path(context.data_dir) / "libvirt" / context.instance / zone
    uri = settings.uri
    transport: tuple[str, ...] = ()
    if parts.scheme == "qemu+ssh":
        transport = _transport(own, settings, context)
        uri = f"{settings.uri}?command={quote(str(own / 'ssh'), safe='')}&no_tty=1"
    return Host(
        zone=zone,
        settings=settings,
        connection=Connection(uri),
        shell=HostShell(transport),
        locks=Locks(own / "locks", context.wall),
        wall=context.wall,
        is_this_computer=not transport,
        domain_type_wish=context.environment.get("NODUS_LIBVIRT_DOMAIN_TYPE") or settings.domainType,
    )


def _transport(own: Path, settings: HostSettings, context: ProviderContext) -> tuple[str, ...]:
    """ssh with the pinned key, for scripts and, as a program of its own, for libvirt."""
    parts = urlsplit(settings.uri)
    host = parts.hostname or ""
    own.mkdir(mode=0o700, parents=True, exist_ok=True)
    known = own / "known_hosts"
    _write(known, f"nodus-{own.name} {' '.join((settings.hostKey or '').split()[:2])}\n", 0o600)
    options = {
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": f'"{known}"',
        "GlobalKnownHostsFile": "none",
        "HostKeyAlias": f"nodus-{own.name}",
        "CheckHostIP": "no",
        "UpdateHostKeys": "no",
        "BatchMode": "yes",
        "ConnectTimeout": "10",
        "ServerAliveInterval": "15",
        "LogLevel": "ERROR",
        "ControlPath": "none",
    }
    words = ["ssh", "-F", "none", *(part for name, value in options.items() for part in ("-o", f"{name}={value}"))]
    if settings.identityFile:
        path = Path(settings.identityFile).expanduser()
        key = path if path.is_absolute() else Path(context.project_dir) / path
        words += ["-o", "IdentitiesOnly=yes", "-i", str(key)]
    # libvirt gives port, user and host itself.
    _write(own / "ssh", f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', 0o700)
    port = ("-p", str(parts.port)) if parts.port else ()
    user = ("-l", parts.username) if parts.username else ()
    return (*words, "-T", *port, *user, "--", host)


def _write(path: Path, text: str, mode: int) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_text(text, encoding="utf-8")
    new.chmod(mode)
    new.replace(path)


@functools.cache
def _plain(thing_id: str) -> str:
    if not tag_in(thing_id):
        raise ValueError("not an id of this provider")
    return thing_id
