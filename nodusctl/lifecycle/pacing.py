"""When to ask again. Gaps follow what is waited for: a machine that boots in a second is looked at ten times a second."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeVar

from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import GiveUp, Wait
from nodusctl.state.status import Phase
from nodusctl.state.terms import Terms

StepT = TypeVar("StepT")

_SHORTEST = timedelta(milliseconds=100)
_LONGEST = timedelta(seconds=5)
_RETRY_FIRST = timedelta(seconds=1)
_RETRY_LONGEST = timedelta(minutes=15)
_TOLD_TO_MACHINES = frozenset({"hand-over-keys", "push", "renew", "quiesce"})
START_BOUND_LEAST, START_BOUND_MOST = timedelta(minutes=10), timedelta(minutes=40)


def look_gap(situation: Situation) -> timedelta:
    """Between two looks at a starting machine: a twentieth of the usual start, 0.1 to 5 s; a fifth of that where nobody counts them."""
    terms = situation.attempt.terms if situation.attempt is not None else None
    usual = terms.startup_p50 if terms is not None else _LONGEST
    return min(max(usual / (100 if _may_ask_often(terms) else 20), _SHORTEST), _LONGEST)


def first_look_after(terms: Terms) -> timedelta:
    """From a machine's acceptance to the first look at it: half of the usual start, a quarter where nobody counts them."""
    return terms.startup_p50 / (4 if _may_ask_often(terms) else 2)


def _may_ask_often(terms: Terms | None) -> bool:
    """Own hardware has no limit of calls, and how long an image takes on it is anybody's guess."""
    return terms is not None and terms.is_own_hardware


def start_deadline(situation: Situation) -> datetime:
    """When a start has taken too long: 3 times boot p90 after the provider accepted, at least 10 and at most 40 minutes."""
    attempt = situation.attempt
    assert attempt is not None and attempt.terms is not None
    bound = min(max(attempt.terms.startup_p90 * 3, START_BOUND_LEAST), START_BOUND_MOST)
    return (attempt.timings.acquired_at or attempt.timings.queued_at) + bound


def retry_at(situation: Situation, step: str) -> datetime:
    """When a step that brought nothing may be tried again: gaps double from 1 s to 15 min, and no sooner than its platform asked for."""
    failed_at = situation.sightings.failed_at.get(step, situation.now)
    doublings: int = min(situation.failed_times(step) - 1, 12)
    gap = min(_RETRY_FIRST * (1 << max(doublings, 0)), _RETRY_LONGEST)
    return max(failed_at + gap, situation.sightings.not_before.get(step, failed_at))


def retried(situation: Situation, name: str, step: StepT, because: str) -> StepT | Wait | GiveUp:
    """``step`` at once, then with growing gaps; after some tries this pass ends, the object stays where it is and the next pass goes on.

    A step whose last answer was "not yet" (``<name>-pending``) is asked again after a look gap.
    """
    pending_at = situation.sightings.failed_at.get(f"{name}-pending")
    if pending_at is not None and pending_at + look_gap(situation) > situation.now:
        return Wait(until=pending_at + look_gap(situation), because=because)
    times = situation.failed_times(name)
    if not times:
        return step
    if times >= situation.rules.calls_per_pass:
        return GiveUp(code="ProviderNotReady", because=f"{name} brought nothing {times} times: {situation.sightings.asked_in_vain}")
    at = retry_at(situation, name)
    if at <= situation.now:
        return step
    why = f" ({situation.sightings.asked_in_vain})" if situation.sightings.asked_in_vain else ""
    return Wait(until=at, because=f"trying to {name} again{why}", code=trouble_code(situation, name))


def trouble_code(situation: Situation, step: str) -> str:
    """The reason a pass ends on where ``step`` brought nothing; "" while its machine starts, because then it may only be slow."""
    if step not in _TOLD_TO_MACHINES:
        return "ProviderNotReady"
    return "NodeUnreachable" if situation.status.phase is Phase.RUNNING else ""
