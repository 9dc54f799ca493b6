"""An Attempt: one period of capacity filling one slot of an owner.

Its fields are never set; they are folded from events, so an Attempt can always be recomputed from the journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from nodusctl.attempts.events import (
    AttemptClosed,
    AttemptQueued,
    BecameReady,
    CapacityEnded,
    DiskAttached,
    DiskDetached,
    DiskGone,
    DiskGrown,
    DiskMade,
    EdgeArmed,
    Event,
    HomeNotSaved,
    HomeRestored,
    HomeSaved,
    Interrupted,
    KeysHandedOver,
    LaunchAccepted,
    LaunchRefused,
    MachineSeen,
    OccurrenceUsed,
    OutcomeUnknown,
    PhaseChanged,
    Recovered,
    ReleaseAsked,
    Remarked,
    RevisionDropped,
    SecretsPushed,
    StopAsked,
    TermsFrozen,
    ThresholdCrossed,
    WentQuiet,
)
from nodusctl.base.ids import Address
from nodusctl.provider.machines import Machine
from nodusctl.state.terms import Terms


class AttemptPhase(StrEnum):
    """An Attempt's phases (objects.md)."""

    QUEUED = "Queued"
    PROVISIONING = "Provisioning"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Moments of an Attempt, each None until it happened (objects.md, ``status.timings``)."""

    queued_at: datetime
    acquired_at: datetime | None = None
    billing_started_at: datetime | None = None
    registered_at: datetime | None = None
    ready_at: datetime | None = None
    stop_asked_at: datetime | None = None
    finished_at: datetime | None = None
    deletion_proven_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedTry:
    """One launch the provider refused. ``unit_ids`` are the exclusive devices it asked for."""

    offer_key: str
    code: str
    scope: str
    message: str
    time: datetime
    retry_after: timedelta | None = None
    unit_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruption:
    """How a running machine was lost (objects.md, ``status.interruption``). ``recovery_seconds`` is None until the session went on."""

    trigger: str
    time: datetime
    lost_seconds: int
    recovery_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One period of capacity.

    ``machine`` is the last report of it, None before any was made. ``edge_at`` is the armed edge: as asked at launch, then as read back;
    ``edge_bound`` is what it stands for and ``edge_armed_at`` when it was last set. ``is_released`` means confirmed gone. ``replaces`` is
    the Attempt whose session this one goes on with. ``billed_from`` is set for an adopted machine: what it cost before is another's.
    """

    uid: str
    owner: Address
    owner_uid: str
    name: str
    slot: str
    epoch: int
    phase: AttemptPhase
    timings: Timings
    terms: Terms | None = None
    token: str = ""
    try_number: int = 0
    refusals: tuple[RefusedTry, ...] = ()
    machine: Machine | None = None
    bootstrap_host_key: str = ""
    host_key: str = ""
    pushed_versions: Mapping[str, int] | None = None
    pushed_keys_digest: str = ""
    tool_ports: Mapping[str, int] = field(default_factory=dict)
    home_path: str = ""
    edge_at: datetime | None = None
    edge_bound: str = ""
    edge_armed_at: datetime | None = None
    idle_seconds: int | None = None
    stop_reason: str = ""
    stop_detail: str = ""
    quiet_asked: bool = False
    release_asked: bool = False
    attached_disks: tuple[str, ...] = ()
    home_is_settled: bool = False
    end_is_estimated: bool = False
    reason: str = ""
    replaces: str = ""
    billed_from: datetime | None = None
    superseded_by: str = ""
    interruption: Interruption | None = None

    @property
    def is_released(self) -> bool:
        """True once the end of the machine is confirmed."""
        return self.timings.finished_at is not None

    @property
    def is_replacement(self) -> bool:
        """True where it took over from a lost machine: its time to ready is the restore segment."""
        return bool(self.replaces)

    @property
    def is_open(self) -> bool:
        """True until the Attempt is closed and paid."""
        return self.phase in {AttemptPhase.QUEUED, AttemptPhase.PROVISIONING, AttemptPhase.RUNNING}


def fold(events: Iterable[Event]) -> tuple[Attempt, ...]:
    """Attempts from events, in the order they were queued. Events of no Attempt are passed over."""
    return folded((), events)


def folded(attempts: Iterable[Attempt], events: Iterable[Event]) -> tuple[Attempt, ...]:
    """Attempts once more events are known."""
    book = {attempt.uid: attempt for attempt in attempts}
    for event in events:
        if isinstance(event, AttemptQueued):
            book[event.attempt_uid] = _queued(event)
        elif event.attempt_uid in book:
            book[event.attempt_uid] = after(book[event.attempt_uid], event)
    return tuple(book.values())


def _queued(event: AttemptQueued) -> Attempt:
    return Attempt(
        uid=event.attempt_uid,
        owner=event.owner,
        owner_uid=event.object_uid,
        name=event.name,
        slot=event.slot,
        epoch=event.epoch,
        phase=AttemptPhase.QUEUED,
        timings=Timings(queued_at=event.time),
        replaces=event.replaces,
    )


def after(attempt: Attempt, event: Event) -> Attempt:
    """The Attempt once ``event`` is known."""
    match event:
        case TermsFrozen() | LaunchAccepted() | LaunchRefused() | MachineSeen():
            return _after_launch(attempt, event)
        case KeysHandedOver() | SecretsPushed() | EdgeArmed() | BecameReady():
            return _after_boot(attempt, event)
        case StopAsked() | WentQuiet() | ReleaseAsked() | CapacityEnded() | AttemptClosed():
            return _after_stop(attempt, event)
        case DiskAttached():
            return replace(attempt, attached_disks=(*attempt.attached_disks, event.disk_id))
        case DiskDetached():
            return replace(attempt, attached_disks=tuple(d for d in attempt.attached_disks if d != event.disk_id))
        case HomeSaved() | HomeNotSaved():
            return replace(attempt, home_is_settled=True)
        case Interrupted() | Recovered():
            return _after_loss(attempt, event)
        case AttemptQueued() | OutcomeUnknown() | DiskMade() | HomeRestored() | RevisionDropped() | PhaseChanged() | Remarked():
            return attempt
        case OccurrenceUsed() | ThresholdCrossed() | DiskGrown() | DiskGone():
            return attempt
        case _:
            assert_never(event)


def _after_launch(attempt: Attempt, event: TermsFrozen | LaunchAccepted | LaunchRefused | MachineSeen) -> Attempt:
    match event:
        case TermsFrozen():
            return replace(
                attempt,
                phase=AttemptPhase.PROVISIONING,
                terms=event.terms,
                token=event.token,
                try_number=event.try_number,
                bootstrap_host_key=event.bootstrap_host_key,
                edge_at=event.edge_at,
                edge_bound=event.edge_bound,
                edge_armed_at=event.time,
                idle_seconds=event.idle_seconds,
            )
        case LaunchRefused():
            refusal = RefusedTry(
                offer_key=event.offer_key,
                code=event.code,
                scope=event.scope,
                message=event.message,
                time=event.time,
                retry_after=event.retry_after,
                unit_ids=event.unit_ids,
            )
            return replace(attempt, phase=AttemptPhase.QUEUED, terms=None, token="", refusals=(*attempt.refusals, refusal))
        case LaunchAccepted():
            machine = event.machine
            began = machine.billing_started_at or machine.created_at or event.time
            timings = replace(
                attempt.timings,
                acquired_at=event.time if event.billed_from is not None else machine.created_at or event.time,
                billing_started_at=max(began, event.billed_from or began),
            )
            return replace(attempt, machine=machine, timings=timings, attached_disks=machine.disk_ids, billed_from=event.billed_from)
        case MachineSeen():
            began_at = event.machine.billing_started_at or attempt.timings.billing_started_at
            began_at = max(began_at, attempt.billed_from or began_at) if began_at is not None else None
            return replace(attempt, machine=event.machine, timings=replace(attempt.timings, billing_started_at=began_at))
        case _:
            assert_never(event)


def _after_boot(attempt: Attempt, event: KeysHandedOver | SecretsPushed | EdgeArmed | BecameReady) -> Attempt:
    match event:
        case KeysHandedOver():
            return replace(attempt, host_key=event.host_key, timings=replace(attempt.timings, registered_at=event.time))
        case SecretsPushed():
            return replace(attempt, pushed_versions=dict(event.versions), pushed_keys_digest=event.keys_digest)
        case EdgeArmed():
            armed_at = event.time if event.bound else attempt.edge_armed_at
            idle_seconds = attempt.idle_seconds if event.idle_seconds is None else event.idle_seconds
            bound = event.bound or attempt.edge_bound
            return replace(attempt, edge_at=event.until, edge_bound=bound, edge_armed_at=armed_at, idle_seconds=idle_seconds)
        case BecameReady():
            timings = replace(attempt.timings, ready_at=event.ready_at)
            return replace(attempt, phase=AttemptPhase.RUNNING, timings=timings, tool_ports=dict(event.tool_ports), home_path=event.home)
        case _:
            assert_never(event)


def _after_loss(attempt: Attempt, event: Interrupted | Recovered) -> Attempt:
    match event:
        case Interrupted():
            lost = Interruption(trigger=event.trigger, time=event.ended_at, lost_seconds=event.lost_seconds)
            return replace(attempt, interruption=lost)
        case Recovered():
            known = attempt.interruption
            found = replace(known, recovery_seconds=event.recovery_seconds) if known is not None else None
            return replace(attempt, interruption=found, superseded_by=event.successor_uid)
        case _:
            assert_never(event)


def _after_stop(attempt: Attempt, event: StopAsked | WentQuiet | ReleaseAsked | CapacityEnded | AttemptClosed) -> Attempt:
    match event:
        case StopAsked():
            reason, detail = (attempt.stop_reason, attempt.stop_detail) if attempt.stop_reason else (event.reason, event.detail)
            return replace(attempt, stop_reason=reason, stop_detail=detail, timings=replace(attempt.timings, stop_asked_at=event.time))
        case WentQuiet():
            return replace(attempt, quiet_asked=True)
        case ReleaseAsked():
            return replace(attempt, release_asked=True)
        case CapacityEnded():
            timings = replace(attempt.timings, finished_at=event.ended_at, deletion_proven_at=event.time)
            return replace(attempt, timings=timings, end_is_estimated=event.is_estimated)
        case AttemptClosed():
            return replace(attempt, phase=AttemptPhase(event.phase), reason=event.reason)
        case _:
            assert_never(event)
