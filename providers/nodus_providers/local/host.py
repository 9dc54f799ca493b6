"""This computer as something that can be offered: its identity, its size, its one offer."""

from __future__ import annotations

import hashlib
import os
import socket
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from nodusctl.base.quantities import quantity_milli, quantity_units
from nodusctl.provider.offers import Availability, Offer, Quote

if TYPE_CHECKING:
    from nodus_providers.local.settings import LocalSettings

_GIB = 2**30
_STARTUP_P50 = timedelta(seconds=1)
_STARTUP_P90 = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """``zone`` names the computer; ``account`` also the folder, because other folders hold other machines and homes."""

    zone: str
    account: str
    cpu_milli: int
    memory_bytes: int

    @property
    def offer_id(self) -> str:
        """The offering id, such as ``cpu-4c-16g-local``; a part of a core or GiB isn't named."""
        return f"cpu-{max(1, self.cpu_milli // 1000)}c-{max(1, self.memory_bytes // _GIB)}g-local"


def this_host(settings: LocalSettings, root: Path) -> Host:
    """Look at this computer. Nothing is written: the identity comes from systemd's machine id, or the host name where there is none."""
    zone = settings.hostId or f"host-{_digest(_machine_id())[:12]}"
    return Host(
        zone=zone,
        account=f"{zone}-{_digest(f'{os.path.realpath(root)}|{os.geteuid()}')[:8]}",
        cpu_milli=(os.cpu_count() or 1) * 1000 if settings.cpu is None else quantity_milli(settings.cpu),
        memory_bytes=_memory_bytes() if settings.memory is None else quantity_units(settings.memory),
    )


def offer_of(instance: str, host: Host, settings: LocalSettings, now: datetime) -> Offer:
    """The one offer of this computer."""
    rate = settings.rate()
    return Offer(
        provider=instance,
        id=host.offer_id,
        instance_type="local",
        region="local",
        zone=host.zone,
        region_class="local",
        location=host.account,
        vcpu_milli=host.cpu_milli,
        memory_bytes=host.memory_bytes,
        is_own_hardware=True,
        availability=Availability.AVAILABLE,
        quote=None if rate is None else Quote(rate_usd_per_hour=rate, observed_at=now, source="settings"),
        startup_p50=_STARTUP_P50,
        startup_p90=_STARTUP_P90,
    )


def _machine_id() -> str:
    for path in (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id")):
        if path.is_file() and (text := path.read_text(encoding="utf-8").strip()):
            return text
    return socket.gethostname()


def _digest(text: str) -> str:
    # machine-id(5): the id itself is confidential, a digest bound to the application may be shown.
    return hashlib.sha256(f"nodusctl|{text}".encode()).hexdigest()


def _memory_bytes() -> int:
    for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return _GIB
