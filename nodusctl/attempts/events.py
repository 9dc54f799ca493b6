"""What happened, one frozen value a fact, in the order it was learnt. Append-only; everything shown about the past comes from here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.provider.machines import Machine, Revision
from nodusctl.state.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fact:
    """``time`` is when we learnt it; ``attempt_uid`` is empty for facts about the object alone."""

    time: datetime
    object_uid: str
    attempt_uid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptQueued(_Fact):
    """A slot of an owner wants capacity. ``replaces`` is the Attempt whose machine was lost, where this one takes over its session."""

    owner: Address
    name: str
    slot: str
    epoch: int
    replaces: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsFrozen(_Fact):
    """A launch on these terms is about to be asked for. The host key is the bootstrap one (public).

    ``edge_bound`` is what the edge stands for, ``idle_seconds`` the idle time after which the machine ends too, 0 for never.
    """

    terms: Terms
    token: str
    try_number: int
    bootstrap_host_key: str
    edge_at: datetime
    edge_bound: str = ""
    idle_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchAccepted(_Fact):
    """The provider made a machine; or, with ``billed_from``, one that was there was taken into the record.

    What such a machine cost before ``billed_from`` stands on another Attempt's receipt.
    """

    machine: Machine
    billed_from: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRefused(_Fact):
    """The provider made nothing, and said why. ``unit_ids`` are the exclusive devices that were asked for."""

    offer_key: str
    code: str
    scope: str
    message: str = ""
    retry_after: timedelta | None = None
    unit_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeUnknown(_Fact):
    """A call ended without an answer; the intent stays open."""

    step: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSeen(_Fact):
    """The provider's report of the machine differs from the last one."""

    machine: Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysHandedOver(_Fact):
    """The durable host key answered on a second verified login; the bootstrap key is dropped."""

    host_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsPushed(_Fact):
    """Environment, secrets and login keys are in place, read back.

    ``versions`` pins each Secret by name; ``keys_digest`` stands for the login keys.
    """

    versions: Mapping[str, int]
    keys_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeArmed(_Fact):
    """The machine read back when it will end itself. ``bound`` is what that edge stands for; empty leaves it as it was.

    ``idle_seconds`` is the idle time after which it ends too, 0 for never; None leaves that as it was.
    """

    until: datetime
    bound: str = ""
    idle_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BecameReady(_Fact):
    """Proved from the user's side: every declared tool answered. ``ready_at`` is the machine's own time of it.

    ``tool_ports`` are those of browser tools on the machine's loopback, ``home`` the home as a session sees it.
    """

    ready_at: datetime
    tool_ports: Mapping[str, int] = field(default_factory=dict)
    home: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAsked(_Fact):
    """A stop began; the first reason is kept. ``detail`` is what was seen, where a start is given up."""

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WentQuiet(_Fact):
    """The door is closed and the user's processes ended, or the machine couldn't be asked (``detail`` says why)."""

    is_quiet: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseAsked(_Fact):
    """The provider took the release; not yet confirmed."""

    machine_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityEnded(_Fact):
    """The machine is confirmed gone. ``ended_at`` is the end of billing: the provider's own, else estimated."""

    ended_at: datetime
    is_estimated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptClosed(_Fact):
    """The Attempt is over and its last money is posted."""

    phase: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskMade(_Fact):
    """A Volume got its disk. ``since`` is when it was made, by the provider's time; None where its price wasn't written down yet.

    ``usd_per_gib_month`` is its frozen price, None where nobody knew it.
    """

    volume: Address
    disk_id: str
    location: str
    size_bytes: int = 0
    since: datetime | None = None
    usd_per_gib_month: Money | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskGrown(_Fact):
    """A Volume's disk is larger: it costs ``usd_per_gib_month`` for ``size_bytes`` from ``since`` on, and what it cost before is posted."""

    volume: Address
    disk_id: str
    size_bytes: int
    since: datetime
    usd_per_gib_month: Money | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskGone(_Fact):
    """A Volume's disk is deleted, confirmed, and costs nothing from ``until`` on. ``is_forgotten``: it is only no longer of this state."""

    volume: Address
    disk_id: str
    until: datetime
    is_forgotten: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskAttached(_Fact):
    """A Volume's disk is attached to the Attempt's machine."""

    volume: Address
    disk_id: str
    machine_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskDetached(_Fact):
    """A Volume's disk is free again, confirmed."""

    volume: Address
    disk_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeSaved(_Fact):
    """A revision of a Volume was verified and committed."""

    volume: Address
    revision: Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeNotSaved(_Fact):
    """A save failed; the live disk stays the truth."""

    volume: Address
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeRestored(_Fact):
    """A Volume's live disk was made equal to one of its revisions; no revision was touched."""

    volume: Address
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionDropped(_Fact):
    """A revision of a Volume was deleted: too many were kept, or the owner pruned them."""

    volume: Address
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted(_Fact):
    """The machine of a running session is proved dead. ``trigger`` is the provider's word for it, ``ended_at`` its time or ours.

    ``lost_seconds`` is how long nobody noticed.
    """

    trigger: str
    ended_at: datetime
    lost_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered(_Fact):
    """The session of a lost Attempt goes on in ``successor_uid``, ``recovery_seconds`` after its machine ended."""

    successor_uid: str
    recovery_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OccurrenceUsed(_Fact):
    """An occurrence of a window is over and done with: ``outcome`` is started, started-late or skipped (``reason`` says why)."""

    occurrence: str
    outcome: str
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdCrossed(_Fact):
    """A Budget (``object_uid``) has come to ``percent`` of its limit; once a period (``2026-03``, or ``total``) and threshold."""

    percent: int
    period: str
    used_usd: Money
    limit_usd: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseChanged(_Fact):
    """The object moved along the table of lifecycle.md."""

    before: str
    after: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remarked(_Fact):
    """Something worth telling that moves nothing: a cap overrun, a broken lock, a plan consumed."""

    code: str
    message: str


Event = (
    AttemptQueued
    | TermsFrozen
    | LaunchAccepted
    | LaunchRefused
    | OutcomeUnknown
    | MachineSeen
    | KeysHandedOver
    | SecretsPushed
    | EdgeArmed
    | BecameReady
    | StopAsked
    | WentQuiet
    | ReleaseAsked
    | CapacityEnded
    | AttemptClosed
    | DiskMade
    | DiskGrown
    | DiskGone
    | DiskAttached
    | DiskDetached
    | HomeSaved
    | HomeNotSaved
    | HomeRestored
    | RevisionDropped
    | Interrupted
    | Recovered
    | OccurrenceUsed
    | ThresholdCrossed
    | PhaseChanged
    | Remarked
)
