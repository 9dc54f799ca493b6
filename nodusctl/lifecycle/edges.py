"""When a machine must end by itself, and what is held for it until then.

The edge is min(stopAt, money edge, launch + leaseTerm). It is part of the create itself, so no cap depends on anybody waking up. What the
edge stands for (its bound) is stored with it, so that the reason of a stop is read afterwards and never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.money import ZERO, Money
from nodusctl.base.timestamps import parse_time
from nodusctl.ledger.balances import Balances, balances
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.windows import stop_after
from nodusctl.pricing import caps
from nodusctl.state.records import Record
from nodusctl.state.requests import read_extension
from nodusctl.state.status import SessionStanding, StopReason
from nodusctl.state.terms import Terms


class Bound(StrEnum):
    """What an edge stands for; at equal times the first here is named."""

    CAP = "cap"
    BUDGET = "budget"
    FUNDS = "funds"
    SCHEDULE = "schedule"
    LEASE = "lease"


REASON_OF: dict[str, StopReason] = {
    Bound.CAP: StopReason.MAX_COST_REACHED,
    Bound.BUDGET: StopReason.BUDGET_EXCEEDED,
    Bound.FUNDS: StopReason.UNFUNDED,
    Bound.SCHEDULE: StopReason.SCHEDULE,
    Bound.LEASE: StopReason.LEASE_ENDED,
}
"""Why a machine that reached its edge has stopped."""
MONEY_BOUNDS = frozenset({Bound.CAP, Bound.BUDGET, Bound.FUNDS})
"""Edges behind which nothing more can be held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """``runs_for`` from launch to the armed edge, ``hold_usd`` what is posted before the call.

    ``is_too_small`` where the cap leaves no time to boot and run a minute; ``is_over_budget`` where a Budget has no room for the hold,
    ``is_unfunded`` where what is left of all that was granted has none.
    """

    runs_for: timedelta
    hold_usd: Money
    bound: Bound = Bound.LEASE
    is_too_small: bool = False
    is_over_budget: bool = False
    is_unfunded: bool = False


def edge_of(situation: Situation, terms: Terms) -> Edge:
    """The edge and first hold of a launch now (money.md, "Cap"; lifecycle.md, "The armed edge")."""
    billing = caps.BillingTerms.frozen(terms)
    bounds = {Bound.LEASE: situation.rules.lease_term}
    stop_at = session_stop_at(situation)
    if stop_at is not None and stop_at > situation.now:
        bounds[Bound.SCHEDULE] = stop_at - situation.now
    remaining = remaining_cap(situation)
    is_too_small = False
    if remaining is not None:
        bounds[Bound.CAP] = caps.stop_point(billing, remaining) or timedelta(0)
        is_too_small = caps.cap_too_small(billing, remaining, terms.startup_p90) is not None
    bound, longest = _nearest(bounds)
    hold = caps.first_hold(billing, longest, remaining)
    return Edge(
        runs_for=longest,
        hold_usd=hold,
        bound=bound,
        is_too_small=is_too_small,
        is_over_budget=_is_above(hold, situation.budget_left_usd),
        is_unfunded=_is_above(hold, situation.funds_left_usd),
    )


def _is_above(hold: Money, left: Money | None) -> bool:
    return left is not None and hold > left


def _nearest(bounds: dict[Bound, timedelta]) -> tuple[Bound, timedelta]:
    bound = min((one for one in Bound if one in bounds), key=lambda one: bounds[one])
    return bound, bounds[bound]


def remaining_cap(situation: Situation) -> Money | None:
    """Cap minus charges minus open holds; None without a cap."""
    cap = situation.cap_usd
    if cap is None:
        return None
    used = balances(situation.entries).object(situation.uid)
    return cap - used.held - used.charged


def session_stop_at(situation: Situation) -> datetime | None:
    """When the session under way is to stop by its schedule, windows and extension; None where nothing says so."""
    return session_end(situation.record, situation.status.session, situation.now)


def session_end(record: Record, session: SessionStanding | None, now: datetime) -> datetime | None:
    """The same from what is stored; without a session, of one that would begin now."""
    began_at = session.began_at if session is not None else now
    if session is not None and session.occurrence:
        # A machine is started ahead of its window, maybe before the window before it has ended: that end isn't its own.
        began_at = max(began_at, parse_time(session.occurrence))
    by_times = stop_after(record.spec, record.annotations, began_at)
    extension = read_extension(record.annotations)
    if extension is None or by_times is None or (session is not None and extension.asked_at < session.began_at):
        return by_times
    return max(by_times, extension.until)


def certain_end(record: Record, session: SessionStanding | None, attempt: Attempt, now: datetime) -> datetime | None:
    """When a machine ends whoever renews its lease: by its times, its cap, a Budget. None where nothing but the lease stands for an end."""
    edge = attempt.edge_at if attempt.edge_bound in {Bound.SCHEDULE, *MONEY_BOUNDS} else None
    ahead = (one for one in (session_end(record, session, now), edge) if one is not None and one > now)
    return min(ahead, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where the edge of a running machine should be now, and what it would then stand for."""

    until: datetime
    bound: Bound


def target_of(situation: Situation, attempt: Attempt) -> Target:
    """min(stopAt, money edge, now + leaseTerm) of a machine that runs."""
    until = {Bound.LEASE: situation.now + situation.rules.lease_term}
    stop_at, by_cap, by_budget = session_stop_at(situation), cap_edge(situation, attempt), budget_edge(situation, attempt)
    until |= {Bound.SCHEDULE: stop_at} if stop_at is not None else {}
    until |= {Bound.CAP: by_cap} if by_cap is not None else {}
    until |= {Bound.BUDGET: by_budget} if by_budget is not None else {}
    by_funds = funds_edge(situation, attempt)
    until |= {Bound.FUNDS: by_funds} if by_funds is not None else {}
    bound = min((one for one in Bound if one in until), key=lambda one: until[one])
    return Target(until=until[bound], bound=bound)


def cap_edge(situation: Situation, attempt: Attempt) -> datetime | None:
    """t* on the clock: when the machine must end so that the cap holds; None without a cap or where money never ends it."""
    cap = situation.cap_usd
    if cap is None:
        return None
    known = balances(situation.entries)
    others = known.object(situation.uid)
    own = known.attempt(attempt.uid)
    return _edge_with(attempt, cap - (others.held - own.held) - (others.charged - own.charged))


def budget_edge(situation: Situation, attempt: Attempt) -> datetime | None:
    """When the machine must end so that every Block Budget holds; None where none binds."""
    return _room_edge(situation, attempt, situation.budget_left_usd)


def funds_edge(situation: Situation, attempt: Attempt) -> datetime | None:
    """When what was granted ends; None where nothing was ever granted."""
    return _room_edge(situation, attempt, situation.funds_left_usd)


def _room_edge(situation: Situation, attempt: Attempt, left: Money | None) -> datetime | None:
    """How far an Attempt comes with what it holds and all that is left beside it."""
    if left is None:
        return None
    own = balances(situation.entries).attempt(attempt.uid)
    return _edge_with(attempt, left + own.held + own.charged)


def _edge_with(attempt: Attempt, amount: Money) -> datetime | None:
    """How far an Attempt's whole charge fits into ``amount``."""
    began, terms = attempt.timings.billing_started_at, attempt.terms
    if began is None or terms is None:
        return None
    point = caps.stop_point(caps.BillingTerms.frozen(terms), amount)
    if point == caps.LONGEST:
        return None
    return began + (point or timedelta(0))


def hold_until(situation: Situation, attempt: Attempt, until: datetime, known: Balances) -> Money:
    """What must be held so that the machine is paid for until ``until`` plus its stop bound; never more than the cap leaves."""
    began, terms = attempt.timings.billing_started_at, attempt.terms
    if began is None or terms is None:
        return ZERO
    billing, own = caps.BillingTerms.frozen(terms), known.attempt(attempt.uid)
    needed = billing.charge(until - began + terms.stop_bound) - own.charged
    cap = situation.cap_usd
    if cap is not None:
        others = known.object(situation.uid)
        needed = min(needed, cap - others.charged - (others.held - own.held))
    return max(needed, ZERO)


def stop_at_of(situation: Situation) -> datetime | None:
    """``spec.schedule.stopAt``, or None."""
    text = (situation.record.spec.get("schedule") or {}).get("stopAt")
    return parse_time(text) if isinstance(text, str) else None
