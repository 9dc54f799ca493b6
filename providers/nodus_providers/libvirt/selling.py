"""What a host offers now, how large a machine of a request is, and what is left of a machine whose domain somebody undefined."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from nodus_providers.libvirt.hardware import huge_page_bytes, inventory_of
from nodus_providers.libvirt.hosts import Host
from nodus_providers.libvirt.numa import pinnable_bytes
from nodus_providers.libvirt.offers import HostShape, offers_of
from nodus_providers.libvirt.records import MachineRecord
from nodusctl.base.quantities import quantity_milli, quantity_units
from nodusctl.base.timestamps import parse_time
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.provider.offers import Offer, OfferQuery
from nodusctl.provider.replies import Refused, Scope
from nodusctl.provider.requests import LaunchRequest

_GIB, _MIB = 2**30, 2**20
_KEPT_FOR_HOST = 2 * _GIB
_SMALLEST = 64 * _MIB
_OFFER = re.compile(r"cpu-\d+c-\d+g-local\Z|[a-z0-9-]+-\d+g-x\d+-local\Z")
# From the launch call to tools answering: a guest with systemd and cloud-init, on KVM and under emulation.
_STARTUP: Mapping[str, tuple[timedelta, timedelta]] = {
    "kvm": (timedelta(seconds=30), timedelta(seconds=60)),
    "qemu": (timedelta(seconds=15), timedelta(seconds=90)),
}


@dataclass(frozen=True, slots=True)
class Size:
    """How large a machine is."""

    vcpus: int
    memory_bytes: int


def offers_on(host: Host, instance: str, now: datetime, query: OfferQuery) -> tuple[Offer, ...]:
    """The host's offers; HostError where it can't be asked. A plan waits for this, so what takes long on a slow host is asked at once."""
    host.prepare_beside()
    inventory = inventory_of(host)
    return offers_of(_shape(host, instance), inventory, now, query)


def size_of(host: Host, request: LaunchRequest) -> Size | Refused:
    """Processors and memory of a machine: what was asked for, else all the host offers; beside a card no more than can be pinned now."""
    if _OFFER.match(request.offer_id) is None:
        return Refused("Invalid", message=f"{host.zone} has no offer {request.offer_id}")
    if request.unit_ids and request.offer_id.startswith("cpu-"):
        return Refused("Invalid", message="an offer without cards has no units")
    if not request.unit_ids and not request.offer_id.startswith("cpu-"):
        return Refused("Invalid", message="the request names no cards to start with; plan and apply again")
    whole = _whole(host)
    cpu_milli = request.cpu_milli or whole.vcpus * 1000
    memory_bytes = request.memory_bytes or whole.memory_bytes
    if request.unit_ids and not request.memory_bytes:
        pinnable = _pinnable(host)
        if pinnable < min(memory_bytes, _GIB):
            why = f"{pinnable // _MIB} MiB of {host.zone} can be pinned now; stop another machine there, or ask for so little memory"
            return Refused("CapacityUnavailable", Scope.ZONE, why)
        memory_bytes = min(memory_bytes, pinnable)
    if memory_bytes > whole.memory_bytes or cpu_milli > whole.vcpus * 1000:
        return Refused(
            "CapacityUnavailable", message=f"{host.zone} has {whole.vcpus} cores and {whole.memory_bytes // _MIB} MiB for machines"
        )
    return Size(vcpus=-(-cpu_milli // 1000), memory_bytes=max(memory_bytes // _MIB * _MIB, _SMALLEST))


def undefined(host: Host, record: MachineRecord) -> Machine:
    """A machine whose files are still here and whose domain isn't: over, and to be released."""
    return Machine(
        id=record.id,
        state=MachineState.TERMINATED,
        token=record.token,
        reason="killed",
        reason_detail="its domain was undefined by somebody; its files are still on the host",
        name=record.name,
        zone=host.zone,
        location=host.location,
        offer_id=record.offer_id,
        tags=dict(record.tags),
        created_at=parse_time(record.created_at),
        disk_ids=record.disk_ids,
    )


def _whole(host: Host) -> Size:
    settings = host.settings
    vcpus = host.connection.cpus() if settings.cpu is None else max(1, quantity_milli(settings.cpu) // 1000)
    return Size(vcpus, _usable(host) if settings.memory is None else quantity_units(settings.memory))


def _pinnable(host: Host) -> int:
    """Bytes a machine with cards could have now."""
    found = pinnable_bytes(inventory_of(host).cells, huge_page_bytes(host), _KEPT_FOR_HOST // 2)
    return _usable(host) if found is None else found


def _usable(host: Host) -> int:
    """Bytes of the host that machines may have."""
    return max(host.connection.memory_bytes() - _KEPT_FOR_HOST, _GIB)


def _shape(host: Host, instance: str) -> HostShape:
    whole = _whole(host)
    p50, p90 = _STARTUP[host.domain_type]
    return HostShape(
        instance=instance,
        zone=host.zone,
        location=host.location,
        cpu_milli=whole.vcpus * 1000,
        memory_bytes=_usable(host),
        memory_limit_bytes=whole.memory_bytes,
        page_bytes=huge_page_bytes(host),
        rate=host.settings.rate(),
        startup_p50=p50,
        startup_p90=p90,
    )
