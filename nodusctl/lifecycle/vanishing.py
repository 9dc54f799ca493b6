"""When a machine counts as dead. A failing SSH is never enough; the provider's own word is, and an absence only by rule R3."""

from __future__ import annotations

from datetime import datetime, timedelta

from nodusctl.attempts.attempt import Attempt
from nodusctl.lifecycle.edges import REASON_OF
from nodusctl.lifecycle.offers import SHUTS_PROVIDER
from nodusctl.lifecycle.pacing import retried
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import GiveUp, Look, Wait
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.state.requests import declared_dead
from nodusctl.state.status import StopReason

ENDED = frozenset({MachineState.STOPPED, MachineState.TERMINATED, MachineState.FAILED})
_EDGE_SLACK = timedelta(seconds=30)
_AFTER_EDGE = timedelta(minutes=5)
_IDLE, _EDGE = frozenset({"idle", "Idle"}), frozenset({"edge", "EdgePassed"})
"""Words in which a machine's end note, or its platform, says why it ended itself."""


def look_failed(situation: Situation) -> Look | Wait | GiveUp:
    """After a look that told nothing: again with growing gaps, unless it is the account that is refused (rule R12)."""
    if situation.sightings.failure_codes.get("look") in SHUTS_PROVIDER:
        return GiveUp(code="ProviderNotReady", because=f"the machine can't be looked at: {situation.sightings.asked_in_vain}")
    return retried(situation, "look", Look(because="the last look told nothing"), "looking at the machine again")


def is_dead(situation: Situation) -> bool:
    """True where the machine's end is proved (lifecycle.md, "Proof of death"); a failing SSH alone proves nothing.

    Its state says so; it was absent twice after the list lag; its enforced edge passed five minutes ago; or its owner said so.
    """
    machine, attempt = situation.sightings.machine, situation.attempt
    if attempt is not None and attempt.machine is not None and declared_dead(situation.record.annotations) == attempt.machine.id:
        return True
    if machine is not None and machine.state in ENDED:
        return True
    if machine is not None and machine.state is MachineState.GONE and situation.sightings.gone_looks >= 2 and _lag_is_over(situation):
        return True
    is_unseen = machine is None or machine.state is MachineState.UNREADABLE
    return is_unseen and _edge_is_long_past(situation)


def _edge_is_long_past(situation: Situation) -> bool:
    attempt, platform = situation.attempt, situation.platform
    if attempt is None or attempt.edge_at is None or platform is None or not platform.self_stop_ends_billing:
        return False
    return attempt.edge_at + _AFTER_EDGE <= situation.now


def next_gone_look(situation: Situation) -> datetime:
    """When to look again for an absent machine: at once, and not before the list lag is over.

    A pass of ``tick`` waits for nothing and remembers no look of an earlier one: with a gap between the looks it would never look twice.
    """
    looked_at = situation.sightings.looked_at or situation.now
    return max(looked_at, _lag_end(situation))


def when_died(situation: Situation) -> datetime | None:
    """The provider's own time of the machine's end; None where it doesn't say."""
    return situation.sightings.machine.ended_at if situation.sightings.machine is not None else None


def last_seen_alive(situation: Situation) -> datetime:
    """When somebody last knew the machine to be there: a pass, or its own start. Where its provider forgot it, its cost ends there."""
    timings = situation.attempt.timings if situation.attempt is not None else None
    moments = (situation.last_pass_at, timings.ready_at, timings.acquired_at) if timings is not None else (situation.last_pass_at,)
    return min(max((one for one in moments if one is not None), default=situation.now), situation.now)


def stop_reason_of_dead(situation: Situation) -> StopReason:
    """Why a dead machine ended: what it or its platform says (idle, its edge), else by whether its edge had come, else it was lost."""
    return reason_of_end(situation.attempt, situation.sightings.machine, situation.now)


def reason_of_end(attempt: Attempt | None, machine: Machine | None, now: datetime) -> StopReason:
    """The same from a report alone; ``now`` stands in for an end the provider gives no time of."""
    if machine is not None and machine.reason in _IDLE:
        return StopReason.IDLE
    if attempt is None or attempt.edge_at is None:
        return StopReason.INTERRUPTED
    ended_at = (machine.ended_at if machine is not None else None) or now
    if (machine is None or machine.reason not in _EDGE) and ended_at < attempt.edge_at - _EDGE_SLACK:
        return StopReason.INTERRUPTED
    return REASON_OF.get(attempt.edge_bound, StopReason.LEASE_ENDED)


def _lag_end(situation: Situation) -> datetime:
    platform, attempt = situation.platform, situation.attempt
    if platform is None or attempt is None or attempt.timings.acquired_at is None:
        return situation.now
    return attempt.timings.acquired_at + platform.list_lag_bound


def _lag_is_over(situation: Situation) -> bool:
    return _lag_end(situation) <= situation.now
