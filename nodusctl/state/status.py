"""Where an object stands, as last written. Observed, never diffed.

One shape for every kind; the parts a kind doesn't have stay empty. Faces turn it into the seeds' ``status``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money


class Phase(StrEnum):
    """A Workspace's phases (seed), and the few a Volume and the quiet kinds need."""

    PENDING = "Pending"
    STARTING = "Starting"
    RUNNING = "Running"
    RECOVERING = "Recovering"
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    TERMINATING = "Terminating"
    FAILED = "Failed"
    READY = "Ready"


class StopReason(StrEnum):
    """Why a Workspace is stopped (seed ``stopReason``)."""

    OWNER = "Owner"
    DELETED = "Deleted"
    MAX_COST_REACHED = "MaxCostReached"
    BUDGET_EXCEEDED = "BudgetExceeded"
    UNFUNDED = "Unfunded"
    SCHEDULE = "Schedule"
    LEASE_ENDED = "LeaseEnded"
    IDLE = "Idle"
    INTERRUPTED = "Interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """metav1.Condition."""

    type: str
    status: str
    reason: str
    message: str = ""
    last_transition_at: datetime
    observed_generation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """``status.lastSession``: what one finished session cost."""

    attempt: str
    started_at: datetime | None
    ended_at: datetime
    billed_seconds: int
    charge_usd: Money
    stop_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStanding:
    """The session under way: from the start that was asked for until the stop that ends it; one or more Attempts.

    ``trigger`` is who asked: owner, window or wake. ``occurrence`` is the window's, where one did. ``recoveries`` counts machines that were
    lost and replaced; ``billed_seconds`` and ``charge_usd`` are those of Attempts of this session that are over.
    """

    began_at: datetime
    trigger: str = "owner"
    occurrence: str = ""
    recoveries: int = 0
    ready_at: datetime | None = None
    billed_seconds: int = 0
    charge_usd: Money = ZERO

    @property
    def is_unattended(self) -> bool:
        """True where nobody was there to see the price: then only the approval's ceilings count."""
        return self.trigger != "owner" or self.recoveries > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsStanding:
    """Which occurrences of the schedule and windows are over and done with.

    ``digest`` stands for the windows this speaks of. What starts at or before ``through`` is used, and so is what ``used`` names.
    ``skipped`` is the last occurrence that was passed over, ``skip_reason`` why.
    """

    digest: str
    through: datetime
    used: tuple[str, ...] = ()
    skipped: str = ""
    skip_reason: str = ""
    skip_message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a Volume's disk; changes only after proof that the former holder's machine is gone."""

    address: Address
    attempt_uid: str
    epoch: int
    machine_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRevision:
    """One verified restore point of a Volume."""

    number: int
    id: str
    saved_at: datetime
    attempt_uid: str
    size_bytes: int = 0
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageStretch:
    """A disk of one size at one frozen rate (USD per GiB-month; None where nobody knew it), from ``since`` on.

    ``since`` is when its charges were posted last, else when the stretch began.
    """

    since: datetime
    size_bytes: int
    usd_per_gib_month: Money | None

    @property
    def month_ends(self) -> datetime | None:
        """When its next charge is due although nothing is done to it: the end of its UTC month; None for one that costs nothing."""
        if not self.usd_per_gib_month:
            return None
        first = self.since.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        return (first + timedelta(days=32)).replace(day=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeStanding:
    """A Volume's outside half. Empty until its first machine is placed (rule R7: location from the first attach).

    ``restored_revision`` is set from a restore until the next save: the live disk then goes on from that revision, not from the latest.
    ``account`` is the provider's identity when the disk was made (rule R12); empty where that was never written down.
    ``storage`` is what its disk costs now; None where that was never written down, and then nothing is posted for it.
    """

    provider: str = ""
    location: str = ""
    zone: str = ""
    disk_id: str = ""
    size_bytes: int = 0
    holder: Holder | None = None
    revisions: tuple[SavedRevision, ...] = ()
    is_newer_than_revision: bool = False
    restored_revision: int = 0
    account: str = ""
    storage: StorageStretch | None = None

    @property
    def revision(self) -> int:
        """The latest revision's number; 0 before the first save."""
        return self.revisions[-1].number if self.revisions else 0

    @property
    def disk_revision(self) -> int:
        """The revision the live disk began from or equals: the latest, or the one last restored. 0 before the first save."""
        return self.restored_revision or self.revision

    def saved(self, number: int) -> SavedRevision | None:
        """The revision with this number, or None."""
        return next((one for one in self.revisions if one.number == number), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretVersion:
    """One stored version of a Secret: its number and key names."""

    number: int
    keys: tuple[str, ...]
    created_at: datetime | None = None
    created_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretStanding:
    """What is known of a Secret without its values: version, and per key a keyed HMAC that shows whether other bytes came.

    ``versions`` are all that are stored, oldest first; a pinned mount may name any of them.
    """

    version: int
    hmacs: Mapping[str, str]
    versions: tuple[SecretVersion, ...] = ()

    def keys_of(self, number: int) -> tuple[str, ...] | None:
        """Key names of one version, sorted; None for a version that isn't stored."""
        if number == self.version:
            return tuple(sorted(self.hmacs))
        return next((one.keys for one in self.versions if one.number == number), None)

    def followed_by(self, hmacs: Mapping[str, str], at: datetime, by: str) -> SecretStanding:
        """The standing with one version more."""
        number = self.version + 1
        made = SecretVersion(number=number, keys=tuple(sorted(hmacs)), created_at=at, created_by=by)
        return SecretStanding(version=number, hmacs=hmacs, versions=(*self.versions, made))


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectStatus:
    """Where one object stands.

    ``attempt_uid`` is the Attempt now filling the slot, empty when none; ``epoch`` the highest epoch ever used for this uid.
    ``stop_reason`` is set from the moment a stop begins. ``handled_requests`` maps an action to the annotation value last acted on.
    """

    phase: Phase = Phase.PENDING
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    epoch: int = 0
    attempt_uid: str = ""
    stop_reason: str = ""
    start_is_asked: bool = False
    handled_requests: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    last_session: SessionSummary | None = None
    host_key: str = ""
    last_activity_at: datetime | None = None
    last_activity: str = ""
    volume: VolumeStanding | None = None
    secret: SecretStanding | None = None
    fingerprint: str = ""
    session: SessionStanding | None = None
    windows: WindowsStanding | None = None
