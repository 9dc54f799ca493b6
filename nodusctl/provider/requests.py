"""What we ask of a provider. Frozen and keyword-only, so that a new field breaks no plugin.

Every mutating request carries a client token fixed before the call (see ``tokens``); request bytes hold no timestamps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nodusctl.base.money import Money


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskAttachment:
    """A disk and where it is mounted."""

    disk_id: str
    mount_path: str
    is_read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Egress:
    """What a machine may reach: ``policy`` Open, Deny or AllowList; with AllowList the DNS names, ``*.suffix`` and presets let out."""

    policy: str = "Open"
    allow: tuple[str, ...] = ()
    presets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRequest:
    """Start one machine.

    ``boot`` is the whole first-boot document in the form ``Description.boot_form`` asked for. ``edge_seconds`` is the armed edge
    as seconds from boot, part of the create itself (rule R10). ``disks`` is filled only where ``attaches_at_launch``.
    ``cpu_milli`` and ``memory_bytes`` are what the machine asked for, where a platform shares its hardware out; None is no limit.
    ``max_rate_usd_per_hour`` is passed on where an interruptible offer takes a maximum price.
    """

    token: str
    name: str
    offer_id: str
    instance_type: str
    zone: str
    is_interruptible: bool
    unit_ids: tuple[str, ...] = ()
    image: str
    boot: str
    edge_seconds: int
    disk_bytes: int | None = None
    disks: tuple[DiskAttachment, ...] = ()
    max_rate_usd_per_hour: Money | None = None
    cpu_milli: int | None = None
    memory_bytes: int | None = None
    egress: Egress = Egress()
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskRequest:
    """Make an empty disk for a Volume where its first machine is placed."""

    token: str
    name: str
    zone: str
    size_bytes: int
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachRequest:
    """Attach a disk to a machine."""

    token: str
    machine_id: str
    disk: DiskAttachment


@dataclass(frozen=True, slots=True, kw_only=True)
class DetachRequest:
    """Detach a disk; done only when the platform confirms it."""

    token: str
    machine_id: str
    disk_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveRequest:
    """Commit revision ``number`` of a quiet disk. A repeated token finds its own half."""

    token: str
    disk_id: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest:
    """Make the disk's live content equal to a revision; no revision is lost."""

    token: str
    disk_id: str
    revision_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowRequest:
    """Grow a disk in place to ``size_bytes``."""

    token: str
    disk_id: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteDiskRequest:
    """Delete a disk and its revisions."""

    token: str
    disk_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRevisionRequest:
    """Delete one revision of a disk; the live content and the other revisions stay."""

    token: str
    disk_id: str
    revision_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRequest:
    """End a machine for good. Asking again for the same machine is how a release is confirmed."""

    token: str
    machine_id: str
