"""When a machine counts as dead. A failing SSH is never enough; the provider's own word is, and an absence only by rule R3."""

from __future__ import annotations

from datetime import datetime, timedelta

from nodusctl.lifecycle.situation import Situation
from nodusctl.provider.machines import MachineState
from nodusctl.state.status import StopReason

ENDED = frozenset({MachineState.STOPPED, MachineState.TERMINATED, MachineState.FAILED})
_BETWEEN_LOOKS = timedelta(seconds=1)
_EDGE_SLACK = timedelta(minutes=5)


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
    """Why a dead machine ended: at its own edge it is the edge's reason, else it was interrupted."""
    attempt = situation.attempt
    if attempt is None or attempt.edge_at is None:
        return StopReason.INTERRUPTED
    ended_at = (situation.sightings.machine and situation.sightings.machine.ended_at) or situation.now
    if ended_at < attempt.edge_at - _EDGE_SLACK:
        return StopReason.INTERRUPTED
    return StopReason.LEASE_ENDED


def _lag_end(situation: Situation) -> datetime:
    platform, attempt = situation.platform, situation.attempt
    if platform is None or attempt is None or attempt.timings.acquired_at is None:
        return situation.now
    return attempt.timings.acquired_at + platform.list_lag_bound


def _lag_is_over(situation: Situation) -> bool:
    return _lag_end(situation) <= situation.now
