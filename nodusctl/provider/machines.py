"""What exists at a provider: machines, disks and their revisions, as last reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

_NO_TAGS: Mapping[str, str] = MappingProxyType({})


class MachineState(StrEnum):
    """A machine's state in the provider's own words, mapped to seven. ``unreadable`` (a 403) is never ``gone``."""

    PENDING = "pending"
    RUNNING = "running"
    STOPPED = "stopped"
    TERMINATED = "terminated"
    FAILED = "failed"
    GONE = "gone"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class JumpHost:
    """An sshd on the way to a machine that this computer doesn't reach itself: the machine's host, where its network is the host's own.

    ``host_key`` is its pinned public key, one line; ``user`` is "" for ssh's default. ``identity`` is the path of a private key on this
    computer, perhaps with ``~``; where it is "" or isn't there, as on a colleague's computer, ssh offers what it has itself.
    """

    host: str
    port: int
    user: str
    host_key: str
    identity: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SshEndpoint:
    """Where sshd listens and whom it lets in. With ``jump``, host and port are as that host sees them.

    ``is_here``: the way there never leaves this computer, as to its own processes and to virtual machines on a network of its own.
    """

    host: str
    port: int
    user: str
    jump: JumpHost | None = None
    is_here: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One machine. Times are the provider's own, None where it doesn't say.

    ``reason`` is a word: why an ended machine ended (idle, edge, released, killed, poweroff, signal, failed), read from what it or the
    platform wrote down, never guessed; or what one under way waits for; or why one can't be read (Forbidden, and that where it is empty;
    Unavailable). ``reason_detail`` is the evidence, for people.
    ``impaired`` says why the platform itself finds that the machine doesn't answer (a failed status check); empty where it does, or the
    platform can't tell. ``billing_started_at`` and ``ended_at`` bound what is charged; ``armed_until`` is the edge as the platform or the
    machine reports it. ``instance_type``, ``vcpu_milli`` and ``memory_bytes`` are its hardware as it is now, empty where the platform
    doesn't say; ``edits`` is what else of it somebody changed by hand since it was made: name, as it was made, as it is now.
    """

    id: str
    state: MachineState
    token: str = ""
    reason: str = ""
    reason_detail: str = ""
    name: str = ""
    zone: str = ""
    location: str = ""
    offer_id: str = ""
    tags: Mapping[str, str] = field(default_factory=lambda: _NO_TAGS)
    created_at: datetime | None = None
    billing_started_at: datetime | None = None
    ended_at: datetime | None = None
    ssh: SshEndpoint | None = None
    armed_until: datetime | None = None
    disk_ids: tuple[str, ...] = ()
    is_interruptible: bool = False
    impaired: str = ""
    instance_type: str = ""
    vcpu_milli: int | None = None
    memory_bytes: int | None = None
    edits: tuple[tuple[str, str, str], ...] = ()


class RevisionState(StrEnum):
    """A revision counts only when ``ready``: a half save never becomes current."""

    SAVING = "saving"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A verified copy of a disk at one moment.

    ``number`` counts from 1 per Volume; ``digest`` is the provider's proof of content, if any.
    """

    id: str
    number: int
    state: RevisionState
    token: str = ""
    size_bytes: int = 0
    digest: str = ""
    committed_at: datetime | None = None
    reason: str = ""


class DiskState(StrEnum):
    """A disk's state; ``gone`` only when this account says so."""

    PENDING = "pending"
    READY = "ready"
    FAILED = "failed"
    GONE = "gone"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """One disk that holds a Volume. ``attached_to`` is a machine id or empty."""

    id: str
    state: DiskState
    token: str = ""
    name: str = ""
    zone: str = ""
    location: str = ""
    size_bytes: int = 0
    used_bytes: int | None = None
    tags: Mapping[str, str] = field(default_factory=lambda: _NO_TAGS)
    created_at: datetime | None = None
    attached_to: str = ""
    revisions: tuple[Revision, ...] = ()


class ReleaseState(StrEnum):
    """Released means the provider said so."""

    GONE = "gone"
    RELEASING = "releasing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Answer to ``release``: confirmed gone with the provider's end of billing, or still on its way.

    ``was_absent``: the provider knew no such machine any more, so it ended before anybody asked.
    """

    state: ReleaseState
    ended_at: datetime | None = None
    was_absent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """Everything with a nodus tag, whatever its state id (rule R15)."""

    machines: tuple[Machine, ...] = ()
    disks: tuple[Disk, ...] = ()
