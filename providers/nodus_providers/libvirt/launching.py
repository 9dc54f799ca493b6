"""Defining and starting a machine as one step, so that a crash at any line leaves nothing, or one domain that its token finds.

The UUID follows from the client token. Files first, then the definition (phase ``launching``), then the watch of the edge, then the start,
which is also the claim on its cards. What fails before the start is over is taken back whole: definition, NVRAM, overlay, seed. A domain
that a crash left defined is started by whoever comes next with its token; one that isn't ours is never touched, whatever it is called.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from nodus_providers.libvirt.card_health import kernel_words, quarantine_after_message
from nodus_providers.libvirt.connection import START_SECONDS, Domain, LibvirtError, Power
from nodus_providers.libvirt.domain_xml import HOME_SERIAL, DiskFile, Shape, domain_xml
from nodus_providers.libvirt.drift import packed
from nodus_providers.libvirt.edges import watch_edge
from nodus_providers.libvirt.hardware import Taken, take
from nodus_providers.libvirt.hostdevs import without_hostdevs
from nodus_providers.libvirt.hosts import Host
from nodus_providers.libvirt.images import Base, base_of
from nodus_providers.libvirt.machines import gone_record, has_begun, holder_of, observed
from nodus_providers.libvirt.numa import Seat
from nodus_providers.libvirt.records import (
    LAUNCHING,
    STARTED,
    MachineRecord,
    domain_uuid,
    new_record,
    record_in_mark,
    request_digest,
    thing_id,
)
from nodus_providers.libvirt.refusals import refusal_of_start
from nodus_providers.libvirt.seeds import host_name_of, seed_image, seed_name
from nodus_providers.libvirt.shell import ScriptError
from nodus_providers.libvirt.volumes import exists, live_file
from nodusctl.provider.machines import Machine
from nodusctl.provider.replies import Done, Refused, Reply, Scope
from nodusctl.provider.requests import LaunchRequest

if TYPE_CHECKING:
    from nodus_providers.libvirt.settings import ImageSettings

_FILES_SECONDS = 120.0
_PINNING_SECONDS_PER_GIB, _MOST_SECONDS = 0.4, 540.0
"""Whoever calls gives up after ten minutes."""
# The seed comes on stdin. Repeating it makes nothing twice, and leaves no seed but the one of this document.
_MAKE = """set -eu
folder=$1 base=$2 format=$3 bytes=$4 seed=$5 record=$6
mkdir -p "$folder"; chmod 0711 "$folder"; cd "$folder"
umask 077
cat >".$seed.new"; mv ".$seed.new" "$seed"
for old in seed-*.iso; do [ "$old" = "$seed" ] || rm -f "$old" || echo "the seed of before can't be removed: $old" >&2; done
if [ ! -e root.qcow2 ]; then
    rm -f .root.new
    qemu-img create -q -f qcow2 -b "$base" -F "$format" .root.new
    now=$(qemu-img info --output=json .root.new | sed -n 's/^    "virtual-size": \\([0-9]*\\).*/\\1/p' | head -n 1)
    [ "$bytes" -le "${now:-0}" ] || qemu-img resize -q .root.new "$bytes"
    mv .root.new root.qcow2
fi
printf '%s\\n' "$record" >.machine.new; mv .machine.new machine.json
"""
_UNMAKE = 'rm -rf "$1"\n'


class Launcher:
    """Launches machines on hosts and settles half launches."""

    def __init__(self, images: Mapping[str, ImageSettings]) -> None:
        self._images = images

    def launch(self, host: Host, request: LaunchRequest, *, vcpus: int, memory_bytes: int) -> Reply[Machine]:
        """Make the machine of this token, finish it, or answer with what it has become."""
        machine_id, uuid = thing_id("m", host.tag, request.token), domain_uuid(host.tag, request.token)
        with host.locks.held(machine_id):
            domain = host.connection.domain(uuid)
            record = record_in_mark(domain.mark) if domain is not None else None
            if domain is not None and record is None:
                return _foreign(host, domain.name)
            if domain is not None and record is not None:
                if record.digest != request_digest(request):
                    return Refused("IdempotencyKeyReused", message="this client token has launched a machine from another request")
                return self._adopted(host, domain, record)
            if known := gone_record(host, machine_id):
                if known["machine"]["digest"] != request_digest(request):
                    return Refused("IdempotencyKeyReused", message="this client token has launched a machine from another request")
                return Done(observed(host, machine_id, None, None))
            return self._made(host, machine_id, uuid, request, vcpus=vcpus, memory_bytes=memory_bytes)

    def settled(self, host: Host, token: str) -> Machine | None:
        """The machine of a token, or None. A launch that was cut between definition and start is seen through here."""
        machine_id, uuid = thing_id("m", host.tag, token), domain_uuid(host.tag, token)
        with host.locks.held(machine_id):
            domain = host.connection.domain(uuid)
            record = record_in_mark(domain.mark) if domain is not None else None
            if domain is None or record is None:
                return None
            reply = self._adopted(host, domain, record)
            return reply.value if isinstance(reply, Done) else None

    def _adopted(self, host: Host, domain: Domain, record: MachineRecord) -> Reply[Machine]:
        if record.phase != LAUNCHING or has_begun(host, record, domain):
            if record.phase == LAUNCHING and domain.power is not Power.OFF:
                self._seen_through(host, domain.uuid, record)
            return Done(_observed(host, domain.uuid, record.id))
        return self._started(host, domain.uuid, record)

    def _made(self, host: Host, machine_id: str, uuid: str, request: LaunchRequest, *, vcpus: int, memory_bytes: int) -> Reply[Machine]:
        if foreign := host.connection.uuid_of(request.name):
            return _foreign(host, request.name, foreign)
        base = base_of(host, self._images, request.image)
        if isinstance(base, Refused):
            return base
        with ExitStack() as held:
            for attachment in request.disks:
                held.enter_context(host.locks.held(attachment.disk_id))
            if refusal := _disk_refusal(host, request) or _network_refusal(host):
                return refusal
            taken = take(host, request.unit_ids, vcpus=vcpus, memory_bytes=memory_bytes) if request.unit_ids else None
            if isinstance(taken, Refused):
                return taken
            name = host_name_of(request.name)
            seed = seed_name(machine_id, name, request.boot)
            record = new_record(machine_id, request, host.wall.now(), vcpus=vcpus, memory_bytes=memory_bytes, seed=seed)
            if taken is not None:
                record = record.changed(devices=taken.addresses, drivers=dict(taken.drivers))
            try:
                self._write_files(host, request, record, base, seed_image(machine_id, name, request.boot))
                shape = _shape(host, uuid, record, base, request=request, taken=taken)
                record = record.changed(wrote=packed(domain_xml(shape)))
                host.connection.define(domain_xml(replace(shape, record=record)))
            except (LibvirtError, ScriptError) as fault:
                return self._taken_back(host, uuid, record, fault, "ProviderNotReady")
        return self._started(host, uuid, record, taken)

    def _write_files(self, host: Host, request: LaunchRequest, record: MachineRecord, base: Base, seed: bytes) -> None:
        words = (host.machine_folder(record.id), base.path, base.format, str(request.disk_bytes or 0), record.seed, record.text())
        host.shell.run(_MAKE, *words, stdin=seed, limit_seconds=_FILES_SECONDS)

    def _started(self, host: Host, uuid: str, record: MachineRecord, taken: Taken | None = None) -> Reply[Machine]:
        """Start a defined domain, with its cards for this start only."""
        if record.unit_ids and taken is None:
            found = take(host, record.unit_ids, vcpus=record.vcpus, memory_bytes=record.memory_bytes)
            if isinstance(found, Refused):
                self._take_away(host, uuid, record)
                return found
            taken = found
        stored = host.connection.xml(uuid)
        try:
            watch_edge(host, record.id, uuid, record.edge_seconds)
            if taken is not None:
                host.connection.define(_with_cards(stored, taken))
            with kernel_words(host, record.devices):
                host.connection.start(uuid, start_seconds(record))
        except (LibvirtError, ScriptError) as fault:
            # Whatever keeps a valid definition from starting lies with the host, and somebody may mend it while we wait.
            return self._taken_back(host, uuid, record, fault, "Unavailable")
        self._seen_through(host, uuid, record)
        return Done(_observed(host, uuid, record.id))

    def _seen_through(self, host: Host, uuid: str, record: MachineRecord) -> None:
        """It runs: the definition holds no cards any more, and says that it was started."""
        if record.unit_ids:
            host.connection.define(_without_cards(host.connection.xml(uuid)))
        host.connection.set_mark(uuid, record.changed(phase=STARTED).mark())

    def _taken_back(self, host: Host, uuid: str, record: MachineRecord, fault: Exception, code: str) -> Refused:
        """Nothing of a failed launch stays; a refusal says what libvirt said."""
        self._take_away(host, uuid, record)
        text = " ".join(str(fault).split())
        quarantine_after_message(host, record.devices, text)
        return refusal_of_start(text, code, host.zone)

    def _take_away(self, host: Host, uuid: str, record: MachineRecord) -> None:
        domain = host.connection.domain(uuid)
        if domain is not None and record_in_mark(domain.mark) is not None:
            host.connection.destroy(uuid)
            host.connection.undefine(uuid)
        host.shell.run(_UNMAKE, host.machine_folder(record.id))


def start_seconds(record: MachineRecord) -> float:
    """How long a start may take: all memory of a machine with cards is pinned before QEMU runs, which takes a big host minutes."""
    pinned_gib = record.memory_bytes / 2**30 if record.devices else 0.0
    return min(START_SECONDS + pinned_gib * _PINNING_SECONDS_PER_GIB, _MOST_SECONDS)


def _observed(host: Host, uuid: str, machine_id: str) -> Machine:
    domain = host.connection.domain(uuid)
    return observed(host, machine_id, domain, record_in_mark(domain.mark) if domain is not None else None)


def _shape(host: Host, uuid: str, record: MachineRecord, base: Base, *, request: LaunchRequest, taken: Taken | None) -> Shape:
    disks = tuple(DiskFile(path=live_file(host, one.disk_id), serial=HOME_SERIAL, is_read_only=one.is_read_only) for one in request.disks)
    return Shape(
        uuid=uuid,
        record=record,
        folder=host.machine_folder(record.id),
        base=base,
        domain_type=host.domain_type,
        emulated_cpu=host.settings.emulatedCpu,
        network=host.settings.network or "default",
        bridge=host.settings.bridge or "",
        disks=disks,
        seat=taken.seat if taken is not None else Seat(),
        is_hidden=taken is not None and host.settings.cards.hideHypervisor,
        mmio_window_mib=taken.mmio_window_mib if taken is not None else 0,
    )


def _with_cards(stored: str, taken: Taken) -> str:
    root = without_hostdevs(ET.fromstring(stored))
    devices = root.find("devices")
    assert devices is not None, "libvirt gave a domain without devices"
    devices.extend(taken.hostdevs)
    return ET.tostring(root, encoding="unicode")


def _without_cards(stored: str) -> str:
    return ET.tostring(without_hostdevs(ET.fromstring(stored)), encoding="unicode")


def _foreign(host: Host, name: str, uuid: str = "") -> Refused:
    which = f"{name} ({uuid})" if uuid else name
    why = f"{host.zone} has a domain {which} that is not ours; it was not touched"
    return Refused("ForeignState", message=f"{why}. Rename it there, or give the Workspace another name")


def _disk_refusal(host: Host, request: LaunchRequest) -> Refused | None:
    if len(request.disks) > 1:
        return Refused("Unsupported", message="a machine here holds one disk, as its home")
    for attachment in request.disks:
        if not exists(host, attachment.disk_id):
            return Refused("NotFound", message="there is no disk of this id on this host")
        if holder := holder_of(host, attachment.disk_id):
            return Refused("VolumeBusy", message=f"the disk is attached to {holder}")
    return None


def _network_refusal(host: Host) -> Refused | None:
    if host.settings.bridge is not None:
        return None
    name = host.settings.network or "default"
    is_active = host.connection.is_network_active(name)
    if is_active:
        return None
    virsh = "virsh" if host.is_this_computer else f"virsh -c {host.settings.uri}"
    fix = f"{virsh} net-start {name}" if is_active is False else f"{virsh} net-define /usr/share/libvirt/networks/default.xml"
    what = "is not active" if is_active is False else "does not exist"
    return Refused("ProviderNotReady", Scope.ZONE, f"the network {name} {what} on {host.zone}; run: {fix}")
