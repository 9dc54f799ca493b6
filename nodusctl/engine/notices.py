"""What a person is told of unasked: five happenings, each once, as values. Found by comparing what a pass began with and what it left.

The surprise: most are found in what stands, not in what just happened, so that a pass that was killed, or made by another computer, takes
no notice with it. What was told already stands in the notes of earlier passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import ThresholdCrossed
from nodusctl.base.canonical import digest
from nodusctl.base.ids import Address
from nodusctl.lifecycle.news import overrun, save_failure
from nodusctl.lifecycle.offers import SHUTS_PROVIDER
from nodusctl.lifecycle.overdue import release_due_by
from nodusctl.lifecycle.situation import Situation
from nodusctl.ports.passes import PassNote
from nodusctl.state.snapshot import Snapshot, Standing
from nodusctl.state.status import ObjectStatus, Phase, StopReason


class NoticeKind(StrEnum):
    """The words are part of the JSON document."""

    STOP_FAILED = "StopFailed"
    CAP_OVERRUN = "CapOverrun"
    CREDENTIALS_REFUSED = "CredentialsRefused"
    RECOVERY_USED_UP = "RecoveryUsedUp"
    THRESHOLD_CROSSED = "ThresholdCrossed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One happening. ``about`` is an object's address or a provider instance; ``identity`` is the same as long as it is the same one."""

    kind: NoticeKind
    identity: str
    about: str
    summary: str
    detail: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """What one pass has seen.

    ``before`` is how it found what was due, ``stopping`` are objects on their way down, ``refused`` why an instance refused the account,
    ``crossed`` the thresholds that Budgets have come to in the period that runs, by the Budget's address.
    """

    before: Mapping[Address, ObjectStatus]
    after: Snapshot
    stopping: Sequence[Situation] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    crossed: Mapping[Address, Sequence[ThresholdCrossed]] = field(default_factory=dict)


def notices_of(witness: Witness) -> Iterator[Notice]:
    """Everything that is worth a notice now, told before or not."""
    for situation in witness.stopping:
        yield from _unconfirmed(situation)
    for standing in witness.after:
        yield from _overrun(standing)
        yield from _unsaved(standing)
        yield from _used_up(witness.before.get(standing.record.address), standing)
    for instance, why in sorted(witness.refused.items()):
        yield _refused(instance, why)
    for budget, crossings in sorted(witness.crossed.items()):
        yield from (_crossed(budget, one) for one in crossings)


def is_known(notice: Notice, earlier: Sequence[PassNote]) -> bool:
    """True where an earlier pass told it (newest first). A refused account that answered in between was mended, and is news again."""
    for note in earlier:
        if notice.identity in note.told:
            return True
        if notice.kind is NoticeKind.CREDENTIALS_REFUSED and notice.about in note.seen:
            return False
    return False


def refusal_of(attempt: Attempt | None) -> tuple[str, str] | None:
    """The instance that refused the account for this Attempt's launch, and what it said; None where the last refusal is another."""
    if attempt is None or not attempt.refusals:
        return None
    last = attempt.refusals[-1]
    instance = last.offer_key.partition("/")[0]
    return (instance, f"{last.code} {last.message}".strip()) if last.code in SHUTS_PROVIDER else None


def refuses_account(said: str) -> bool:
    """True for a failure's words that begin with a code about the account."""
    return said.partition(" ")[0] in SHUTS_PROVIDER


def _unconfirmed(situation: Situation) -> Iterator[Notice]:
    due_by, attempt = release_due_by(situation), situation.attempt
    if due_by is None or attempt is None or attempt.machine is None or situation.now <= due_by:
        return
    rate = f" It costs {attempt.terms.rate_usd_per_hour.shown}/h as long as it stands." if attempt.terms is not None else ""
    yield Notice(
        kind=NoticeKind.STOP_FAILED,
        identity=f"StopFailed {attempt.uid}",
        about=str(situation.record.address),
        summary="A machine should have ended and isn't confirmed gone.",
        detail=f"Machine {attempt.machine.id} of {attempt.name} should have been gone by {due_by:%Y-%m-%d %H:%M} UTC.{rate}",
        fix=f"nodusctl describe {situation.record.address}",
    )


def _overrun(standing: Standing) -> Iterator[Notice]:
    over, record = overrun(standing), standing.record
    if over is None:
        return
    yield Notice(
        kind=NoticeKind.CAP_OVERRUN,
        identity=f"CapOverrun {record.uid} {standing.charged_usd.micro}",
        about=str(record.address),
        summary="A session has cost more than its cap.",
        detail=f"{standing.charged_usd.shown} were charged, {over.shown} above maxCostUSD: the provider took longer to end the machine.",
        fix=f"nodusctl receipts {record.address}",
    )


def _unsaved(standing: Standing) -> Iterator[Notice]:
    saved = save_failure(standing.status)
    if saved is None:
        return
    since = [saved.last_transition_at.isoformat(), saved.message]
    yield Notice(
        kind=NoticeKind.STOP_FAILED,
        identity=f"SaveFailed {standing.record.uid} {digest(since)[:16]}",
        about=str(standing.record.address),
        summary="A home could not be saved; its live disk is kept.",
        detail=saved.message,
        fix=f"nodusctl home list {standing.record.address.name}",
    )


def _used_up(before: ObjectStatus | None, after: Standing) -> Iterator[Notice]:
    """A session that had been recovered before, and now ended because its machine was lost."""
    session = before.session if before is not None else None
    if before is None or session is None or not session.recoveries:
        return
    is_lost = after.status.stop_reason == StopReason.INTERRUPTED and before.stop_reason != StopReason.INTERRUPTED
    if not is_lost and not (after.status.phase is Phase.FAILED and before.phase is not Phase.FAILED):
        return
    yield Notice(
        kind=NoticeKind.RECOVERY_USED_UP,
        identity=f"RecoveryUsedUp {after.record.uid} {session.began_at.isoformat()}",
        about=str(after.record.address),
        summary="A lost machine is not replaced any more.",
        detail=f"The session was recovered {session.recoveries} times and has lost its machine again. {after.status.message}".strip(),
        fix=f"nodusctl start {after.record.address.name}",
    )


def _refused(instance: str, why: str) -> Notice:
    return Notice(
        kind=NoticeKind.CREDENTIALS_REFUSED,
        identity=f"CredentialsRefused {instance}",
        about=instance,
        summary="A provider refuses the account.",
        detail=f"{instance}: {why}. Nothing of it can be started, stopped or looked at; machines end at their own edges.",
        fix=f"nodusctl doctor {instance}",
    )


def _crossed(budget: Address, crossing: ThresholdCrossed) -> Notice:
    return Notice(
        kind=NoticeKind.THRESHOLD_CROSSED,
        identity=f"ThresholdCrossed {crossing.object_uid} {crossing.period} {crossing.percent}",
        about=str(budget),
        summary=f"A Budget has come to {crossing.percent} %.",
        detail=f"{crossing.used_usd.shown} of {crossing.limit_usd.shown} are spent or held ({crossing.period}).",
        fix="nodusctl budgets",
    )
