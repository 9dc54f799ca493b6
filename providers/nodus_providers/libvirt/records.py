"""What we know of a machine of ours, as it stands in its domain's metadata and beside its disks. Pure.

A domain is ours where its metadata says so under the UUID that follows from the client token; its name proves nothing.
"""

from __future__ import annotations

import hashlib
import json
import uuid
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from nodus_providers.libvirt.connection import NAMESPACE
from nodusctl.base.canonical import digest
from nodusctl.base.timestamps import format_time
from nodusctl.provider.requests import LaunchRequest
from nodusctl.provider.tokens import ownership_of

_UUIDS = uuid.UUID("6c1f6a52-3d0e-5b1a-9c57-0d9c5c2f4d11")
LAUNCHING, STARTED = "launching", "started"


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRecord:
    """One machine. ``phase`` is ``launching`` until its first start was seen through; ``seed`` names its first-boot disk.

    ``created_at`` is RFC 3339. ``devices`` are PCI addresses it was started with; ``drivers`` what these had before, by address.
    ``wrote`` is the definition as we made it (see ``drift``).
    """

    id: str
    token: str
    digest: str
    name: str
    offer_id: str
    image: str
    tags: Mapping[str, str]
    created_at: str
    edge_seconds: int
    phase: str = LAUNCHING
    seed: str = ""
    disk_ids: tuple[str, ...] = ()
    unit_ids: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    drivers: Mapping[str, str] = field(default_factory=dict[str, str])
    wrote: str = ""
    vcpus: int = 0
    memory_bytes: int = 0

    def changed(self, **changes: Any) -> MachineRecord:
        """The record with some fields changed."""
        return replace(self, **changes)

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    def mark(self) -> str:
        """As the metadata element of its domain."""
        element = ET.Element("machine", id=self.id, token=self.token)
        element.text = self.text()
        return ET.tostring(element, encoding="unicode")


def record_in(text: str) -> MachineRecord | None:
    """Read JSON back; None for text that is no record. Fields of a newer version are left out."""
    try:
        found = json.loads(text)
        known = {name: found[name] for name in MachineRecord.__dataclass_fields__ if name in found}
        lists: dict[str, Any] = {name: tuple(known[name]) for name in ("disk_ids", "unit_ids", "devices") if name in known}
        fields: dict[str, Any] = {**known, **lists}
        return MachineRecord(**fields)
    except (ValueError, TypeError, KeyError):
        return None


def record_in_mark(mark: str) -> MachineRecord | None:
    """The record in a domain's metadata element; None where it isn't ours."""
    if not mark:
        return None
    try:
        return record_in(ET.fromstring(mark).text or "")
    except ET.ParseError:
        return None


def owner_in(root: ET.Element) -> str:
    """Whose a domain is, from its root element: the address of one of our objects, or ""."""
    found = root.find(f"metadata/{{{NAMESPACE}}}machine")
    record = record_in(found.text or "") if found is not None else None
    owner = ownership_of(record.tags) if record is not None else None
    return owner.address if owner is not None else ""


def new_record(machine_id: str, request: LaunchRequest, created_at: Any, *, vcpus: int, memory_bytes: int, seed: str) -> MachineRecord:
    """The record of a machine about to be made."""
    return MachineRecord(
        id=machine_id,
        token=request.token,
        digest=request_digest(request),
        name=request.name,
        offer_id=request.offer_id,
        image=request.image,
        tags=dict(request.tags),
        created_at=format_time(created_at),
        edge_seconds=request.edge_seconds,
        seed=seed,
        disk_ids=tuple(one.disk_id for one in request.disks),
        unit_ids=request.unit_ids,
        vcpus=vcpus,
        memory_bytes=memory_bytes,
    )


def request_digest(request: LaunchRequest) -> str:
    """What of a request must be the same when its token comes again."""
    disks = [[one.disk_id, one.mount_path, one.is_read_only] for one in request.disks]
    asked = [request.name, request.offer_id, request.zone, request.image, request.boot, request.edge_seconds, disks, dict(request.tags)]
    return digest([*asked, list(request.unit_ids), request.cpu_milli, request.memory_bytes, request.disk_bytes])


def domain_uuid(host_tag: str, token: str) -> str:
    """The UUID of the domain that a token makes on a host."""
    return str(uuid.uuid5(_UUIDS, f"{host_tag}|{token}"))


def thing_id(prefix: str, host_tag: str, token: str) -> str:
    """The id of what a token makes on a host: ``m-`` or ``d-``, the host's tag, 12 hex digits."""
    return f"{prefix}-{host_tag}-{hashlib.sha256(f'{host_tag}|{token}'.encode()).hexdigest()[:12]}"


def mac_of(machine_id: str) -> str:
    """The hardware address of a machine's network card: QEMU's prefix and three bytes of its id's digest."""
    found = hashlib.sha256(machine_id.encode()).hexdigest()
    return f"52:54:00:{found[:2]}:{found[2:4]}:{found[4:6]}"
