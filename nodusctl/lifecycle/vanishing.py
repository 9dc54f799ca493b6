"""When a machine counts as dead. A failing SSH is never enough; the provider's own word is, and an absence only by rule R3."""

from __future__ import annotations

from datetime import datetime, timedelta

from nodusctl.lifecycle.edges import stop_at_of
from nodusctl.lifecycle.offers import SHUTS_PROVIDER
from nodusctl.lifecycle.pacing import retried
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import GiveUp, Look, Wait
from nodusctl.provider.machines import MachineState
from nodusctl.state.status import StopReason

ENDED = frozenset({MachineState.STOPPED, MachineState.TERMINATED, MachineState.FAILED})
_BETWEEN_LOOKS = timedelta(seconds=1)
_EDGE_SLACK = timedelta(minutes=5)


def look_failed(situation: Situation) -> Look | Wait | GiveUp:
    """After a look that told nothing: again with growing gaps, unless it is the account that is refused (rule R12)."""
    if situation.sightings.failure_codes.get("look") in SHUTS_PROVIDER:
        return GiveUp(code="ProviderNotReady", because=f"the machine can't be looked at: {situation.sightings.asked_in_vain}")
    return retried(situation, "look", Look(because="the last look told nothing"), "looking at the machine again")


def is_dead(situation: Situation) -> bool:
    """True where the last look proves the machine's end: its state says so, or it was absent twice after the list lag."""
    machine = situation.sightings.machine
    if machine is None:
        return False
    if machine.state in ENDED:
        return True
    return machine.state is MachineState.GONE and situation.sightings.gone_looks >= 2 and _lag_is_over(situation)


def next_gone_look(situation: Situation) -> datetime:
    """When to look again for an absent machine: a second later, and not before the list lag is over."""
    looked_at = situation.sightings.looked_at or situation.now
    return max(looked_at + _BETWEEN_LOOKS, _lag_end(situation))


def stop_reason_of_dead(situation: Situation) -> StopReason:
    """Why a dead machine ended: at its own edge it is what the edge stood for, else it was interrupted."""
    attempt = situation.attempt
    if attempt is None or attempt.edge_at is None:
        return StopReason.INTERRUPTED
    ended_at = (situation.sightings.machine and situation.sightings.machine.ended_at) or situation.now
    if ended_at < attempt.edge_at - _EDGE_SLACK:
        return StopReason.INTERRUPTED
    return _reason_of_edge(situation, attempt.timings.acquired_at or attempt.timings.queued_at, attempt.edge_at)


def _reason_of_edge(situation: Situation, began_at: datetime, edge_at: datetime) -> StopReason:
    """Which of the three bounds the edge was: the lease is the longest, so a nearer edge was stopAt or the money."""
    if edge_at >= began_at + situation.rules.lease_term - _EDGE_SLACK:
        return StopReason.LEASE_ENDED
    stop_at = stop_at_of(situation)
    if stop_at is not None and abs(edge_at - stop_at) <= _EDGE_SLACK:
        return StopReason.SCHEDULE
    return StopReason.MAX_COST_REACHED if situation.cap_usd is not None else StopReason.LEASE_ENDED


def _lag_end(situation: Situation) -> datetime:
    platform, attempt = situation.platform, situation.attempt
    if platform is None or attempt is None or attempt.timings.acquired_at is None:
        return situation.now
    return attempt.timings.acquired_at + platform.list_lag_bound


def _lag_is_over(situation: Situation) -> bool:
    return _lag_end(situation) <= situation.now
