"""When the edge of a running machine is to move, and to where (lifecycle.md, "The armed edge").

Later, when less than half of the lease is left, or when what bound it (stopAt, cap, Budget) has moved; earlier, as soon as one of them lies
before it. A UTC month boundary is a renewal too, because what was used is captured in the month it was used in.
"""

from __future__ import annotations

from datetime import timedelta

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.durations import parse_duration
from nodusctl.lifecycle.edges import MONEY_BOUNDS, Bound, Target, target_of
from nodusctl.lifecycle.money import crosses_month
from nodusctl.lifecycle.pacing import retried
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import GiveUp, Renew, Wait

_SLACK = timedelta(seconds=30)
"""Edges are read back in whole seconds, after the way there and back: what differs by less is the same."""


def next_renewal(situation: Situation) -> Renew | Wait | GiveUp | None:
    """The renewal that is due; None where the edge stands where it should."""
    attempt = situation.attempt
    if attempt is None or attempt.edge_at is None or attempt.terms is None or attempt.timings.ready_at is None:
        return None
    target = target_of(situation, attempt)
    because = _why(situation, attempt, target)
    if not because:
        return None
    until = target.until if because != _MONTH else min(target.until, attempt.edge_at)
    bound = target.bound if until == target.until else attempt.edge_bound
    return retried(situation, "renew", Renew(until=until, bound=str(bound), because=because), "renewing the machine's edge")


_MONTH = "a month has ended, and what was used in it is captured"


def _why(situation: Situation, attempt: Attempt, target: Target) -> str:
    assert attempt.edge_at is not None
    left = attempt.edge_at - situation.now
    is_later, is_earlier = target.until > attempt.edge_at + _SLACK, target.until < attempt.edge_at - _SLACK
    if is_earlier:
        return f"it must end earlier than its edge ({target.bound})"
    if is_later and left < situation.rules.lease_term / 2:
        return "less than half of its lease is left"
    if is_later and attempt.edge_bound in {Bound.SCHEDULE, *MONEY_BOUNDS}:
        return f"what bound it ({attempt.edge_bound}) has moved"
    if target.bound in MONEY_BOUNDS and attempt.edge_bound == Bound.LEASE and left < situation.rules.lease_term / 2:
        return f"its lease can't be made longer ({target.bound})"
    if attempt.idle_seconds is not None and attempt.idle_seconds != idle_seconds(situation):
        return "its idleTimeout changed"
    return _MONTH if crosses_month(attempt, situation.entries, situation.now) else ""


def idle_seconds(situation: Situation) -> int:
    """``spec.idleTimeout`` in seconds; 0 for never."""
    return int(parse_duration(str(situation.record.spec.get("idleTimeout", "1h"))).total_seconds())
