"""One host: how it is reached, where its files lie, what it is called. Reached lazily; nothing happens before the first call.

A host is known by a tag that lies in its folder and is part of every id made there. So another machine behind the same address, or a host
that was taken out of the settings, is never mistaken for one that has lost our machines.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shlex
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from nodus_providers.libvirt.connection import Connection
from nodus_providers.libvirt.locks import Locks
from nodus_providers.libvirt.logins import SharedLogin, socket_folder
from nodus_providers.libvirt.shell import HostError, HostShell
from nodusctl.base.clock import Wall
from nodusctl.provider.contract import ProviderContext
from nodusctl.provider.machines import JumpHost

if TYPE_CHECKING:
    from nodus_providers.libvirt.settings import HostSettings

_ID = re.compile(r"[md]-([0-9a-f]{8})-[0-9a-f]{12}\Z")
_GONE_KEPT_DAYS = 400
# Makes the folders and the host's tag, once; prints the tag. The folders can be passed through, for QEMU may run as another user. As this
# comes before everything else, nothing is run that needn't be.
_PREPARE = """set -eu
if ! { cd "$1" && [ -s host-id ] && [ -d machines ] && [ -d disks ] && [ -d images ] && [ -d gone ]; } 2>/dev/null; then
    mkdir -p "$1"; cd "$1"; chmod 0711 .
    for part in machines disks images gone; do mkdir -p $part; chmod 0711 $part; done
    chmod 0700 gone
    if [ ! -s host-id ]; then
        od -An -N4 -tx1 /dev/urandom | tr -d ' \\n' >".host-id.$$"
        ln ".host-id.$$" host-id 2>/dev/null || :
        rm -f ".host-id.$$"; sync
    fi
fi
read -r tag <host-id || :
printf %s "$tag"
for old in gone/*; do [ ! -e "$old" ] || find gone -type f -mtime +"$2" -delete; break; done
grep -qwE 'vmx|svm' /proc/cpuinfo && [ -e /dev/kvm ] && echo ' kvm' || echo ' emulation'
"""


def tag_in(thing_id: str) -> str:
    """The tag of the host a machine or disk was made on; "" for an id that none of ours can be."""
    found = _ID.match(thing_id)
    return found[1] if found else ""


@dataclass(frozen=True)
class Host:
    """One host of the settings. ``zone`` is its name in offers; ``jump`` the way to machines on a network of its own, None for direct."""

    zone: str
    settings: HostSettings
    connection: Connection
    shell: HostShell
    locks: Locks
    wall: Wall
    is_this_computer: bool
    domain_type_wish: str
    jump: JumpHost | None = None
    _facts: dict[str, str] = field(default_factory=dict)
    _preparing: threading.Lock = field(default_factory=threading.Lock)

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

    def prepare_beside(self) -> None:
        """Begin with what every call needs first, while the caller goes on; whoever needs it then waits for it, or asks anew."""

        def run() -> None:
            with contextlib.suppress(OSError):
                self._prepared()

        threading.Thread(target=run, name=f"folders of {self.zone}", daemon=True).start()

    def _prepared(self) -> Mapping[str, str]:
        with self._preparing:
            return self._asked_once()

    def _asked_once(self) -> Mapping[str, str]:
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

    zone = zone_of(settings)
    own = Path(context.data_dir) / "libvirt" / context.instance / zone
    uri = settings.uri
    transport: tuple[str, ...] = ()
    begin = None
    if is_remote := urlsplit(settings.uri).scheme == "qemu+ssh":
        transport, begin = _transport(own, settings, context)
        uri = f"{settings.uri}?command={quote(str(own / 'ssh'), safe='')}&no_tty=1"
    return Host(
        zone=zone,
        settings=settings,
        connection=Connection(uri, before_opening=begin),
        shell=HostShell(transport, begin),
        locks=Locks(own / "locks", context.wall),
        wall=context.wall,
        is_this_computer=not is_remote,
        domain_type_wish=context.environment.get("NODUS_LIBVIRT_DOMAIN_TYPE") or settings.domainType,
        jump=_jump(settings, context) if is_remote and settings.bridge is None else None,
    )


def _transport(own: Path, settings: HostSettings, context: ProviderContext) -> tuple[tuple[str, ...], Callable[[], None] | None]:
    """ssh with the pinned key, for scripts and, as a program of its own, for libvirt; and what makes them share one login."""
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
    }
    words = ["ssh", "-F", "none", *(part for name, value in options.items() for part in ("-o", f"{name}={value}"))]
    if settings.identityFile:
        words += ["-o", "IdentitiesOnly=yes", "-i", _identity(settings.identityFile, context)]
    port = ("-p", str(parts.port)) if parts.port else ()
    user = ("-l", parts.username) if parts.username else ()
    to = (*port, *user, "--", host)
    folder = socket_folder(context.environment)
    # Of each process its own, under its number: what libvirt starts has ours as its parent's.
    socket = folder / f"{hashlib.sha256(str(own).encode()).hexdigest()[:12]}-" if folder is not None else None
    shared = ("-o", "ControlMaster=no", "-o")
    for_libvirt = shlex.join((*words, *shared)) + (f" 'ControlPath={socket}'$PPID" if socket is not None else " ControlPath=none")
    # libvirt gives port, user and host itself.
    _write(own / "ssh", f'#!/bin/sh\nexec {for_libvirt} "$@"\n', 0o700)
    if socket is None:
        return (*words, "-o", "ControlPath=none", "-T", *to), None
    mine = Path(f"{socket}{os.getpid()}")
    return (*words, *shared, f"ControlPath={mine}", "-T", *to), SharedLogin(tuple(words), to, mine).begin


def _identity(path: str, context: ProviderContext) -> str:
    expanded = Path(path).expanduser()
    return str(expanded if expanded.is_absolute() else Path(context.project_dir) / expanded)


def _jump(settings: HostSettings, context: ProviderContext) -> JumpHost:
    """A network of the host's own is reached through the host: by the same login as the host itself, from whichever computer asks."""
    parts, identity = urlsplit(settings.uri), settings.identityFile or ""
    return JumpHost(
        host=parts.hostname or "",
        port=parts.port or 22,
        user=parts.username or "",
        host_key=" ".join((settings.hostKey or "").split()[:2]),
        # A home is another folder on another computer; the state is read on both.
        identity=identity if identity.startswith("~") or not identity else _identity(identity, context),
    )


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
