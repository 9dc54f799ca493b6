"""What happened to one object, as sentences: events of the journal in order, newest last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
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
from nodusctl.base.money import Money
from nodusctl.base.quantities import shown_bytes
from nodusctl.base.timestamps import format_time
from nodusctl.ports.journal import JournalRow

_Words = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One event: when we learnt it, its name, and a sentence."""

    sequence: int
    time: datetime
    what: str
    message: str


def happenings(rows: Iterable[JournalRow]) -> tuple[Happening, ...]:
    """Sentences for events, in the journal's order."""
    return tuple(_happening(row) for row in rows)


def _happening(row: JournalRow) -> Happening:
    what, message = _words(row.event)
    return Happening(sequence=row.sequence, time=row.event.time, what=what, message=message)


def _words(event: Event) -> _Words:
    match event:
        case AttemptQueued() | TermsFrozen() | LaunchAccepted() | LaunchRefused() | MachineSeen() | OutcomeUnknown():
            return _launch_words(event)
        case KeysHandedOver() | SecretsPushed() | EdgeArmed() | BecameReady():
            return _boot_words(event)
        case StopAsked() | WentQuiet() | ReleaseAsked() | CapacityEnded() | AttemptClosed():
            return _stop_words(event)
        case DiskMade() | DiskGrown() | DiskGone() | DiskAttached() | DiskDetached():
            return _disk_words(event)
        case HomeSaved() | HomeNotSaved() | HomeRestored() | RevisionDropped():
            return _home_words(event)
        case Interrupted() | Recovered() | OccurrenceUsed():
            return _session_words(event)
        case PhaseChanged():
            return "PhaseChanged", f"{event.before or 'new'} to {event.after}" + (f": {event.reason}" if event.reason else "")
        case ThresholdCrossed():
            used = f"{event.used_usd.shown} of {event.limit_usd.shown}"
            return "Threshold", f"{used} spent or held: {event.percent} % reached ({event.period})"
        case Remarked():
            return event.code, event.message
        case _:
            assert_never(event)


def _launch_words(event: AttemptQueued | TermsFrozen | LaunchAccepted | LaunchRefused | MachineSeen | OutcomeUnknown) -> _Words:
    match event:
        case AttemptQueued():
            return "Queued", f"attempt {event.name} wants capacity"
        case TermsFrozen():
            terms = event.terms
            return (
                "Launching",
                f"{terms.offering} on {terms.provider}, zone {terms.zone}, at {terms.rate_usd_per_hour.shown}/h, try {event.try_number}",
            )
        case LaunchAccepted():
            return "Launched", f"the provider made machine {event.machine.id}"
        case LaunchRefused():
            return "LaunchRefused", f"{event.offer_key}: {event.code}" + (f", {event.message}" if event.message else "")
        case MachineSeen():
            return "MachineSeen", f"machine {event.machine.id} is {event.machine.state}"
        case OutcomeUnknown():
            return "OutcomeUnknown", f"{event.step} ended without an answer: {event.detail}"
        case _:
            assert_never(event)


def _boot_words(event: KeysHandedOver | SecretsPushed | EdgeArmed | BecameReady) -> _Words:
    match event:
        case KeysHandedOver():
            return "KeysHandedOver", "the durable host key answered on a second verified login"
        case SecretsPushed():
            pinned = ", ".join(f"{name}@{version}" for name, version in sorted(event.versions.items()))
            return "Pushed", "environment and login keys are in place" + (f"; secrets {pinned}" if pinned else "")
        case EdgeArmed():
            return "EdgeArmed", f"the machine ends itself at {format_time(event.until.replace(microsecond=0))}"
        case BecameReady():
            return "Ready", "every declared tool answered"
        case _:
            assert_never(event)


def _stop_words(event: StopAsked | WentQuiet | ReleaseAsked | CapacityEnded | AttemptClosed) -> _Words:
    match event:
        case StopAsked():
            return "StopAsked", f"because of {event.reason}" + (f": {event.detail}" if event.detail else "")
        case WentQuiet():
            return "Quiet", "the user's processes ended" if event.is_quiet else f"the machine couldn't be asked: {event.detail}"
        case ReleaseAsked():
            return "ReleaseAsked", f"machine {event.machine_id} is on its way out"
        case CapacityEnded():
            estimated = ", estimated" if event.is_estimated else ""
            return "Ended", f"billing ended at {format_time(event.ended_at.replace(microsecond=0))}{estimated}"
        case AttemptClosed():
            return "Closed", f"attempt {event.phase}" + (f": {event.reason}" if event.reason else "")
        case _:
            assert_never(event)


def _session_words(event: Interrupted | Recovered | OccurrenceUsed) -> _Words:
    match event:
        case Interrupted():
            ended_at = format_time(event.ended_at.replace(microsecond=0))
            return "Interrupted", f"the machine was lost at {ended_at} ({event.trigger}), noticed {event.lost_seconds} s later"
        case Recovered():
            return "Recovered", f"the session goes on, {event.recovery_seconds} s after its machine was lost"
        case OccurrenceUsed():
            why = f": {event.reason}" + (f", {event.message}" if event.message else "") if event.reason else ""
            return "Window", f"the window of {event.occurrence} {event.outcome.replace('-', ' ')}{why}"
        case _:
            assert_never(event)


def _disk_words(event: DiskMade | DiskGrown | DiskGone | DiskAttached | DiskDetached) -> _Words:
    match event:
        case DiskMade():
            return "DiskMade", f"{event.volume} got disk {event.disk_id} at {event.location}" + _price_words(event.usd_per_gib_month)
        case DiskGrown():
            return "DiskGrown", f"disk {event.disk_id} has {shown_bytes(event.size_bytes)} now" + _price_words(event.usd_per_gib_month)
        case DiskGone() if event.is_forgotten:
            return "DiskGone", f"disk {event.disk_id} is no longer counted here"
        case DiskGone():
            return "DiskGone", f"disk {event.disk_id} is deleted"
        case DiskAttached():
            return "DiskAttached", f"{event.volume} is attached to machine {event.machine_id}"
        case DiskDetached():
            return "DiskDetached", f"{event.volume} is free again"
        case _:
            assert_never(event)


def _price_words(rate: Money | None) -> str:
    return f", at {rate.shown} per GiB-month" if rate else ""


def _home_words(event: HomeSaved | HomeNotSaved | HomeRestored | RevisionDropped) -> _Words:
    match event:
        case HomeSaved():
            return "HomeSaved", f"{event.volume} has revision {event.revision.number}"
        case HomeNotSaved():
            return "HomeNotSaved", f"{event.volume}: {event.reason}"
        case HomeRestored():
            return "HomeRestored", f"{event.volume} is as it was in revision {event.number}"
        case RevisionDropped():
            return "RevisionDropped", f"{event.volume} no longer has revision {event.number}"
        case _:
            assert_never(event)
