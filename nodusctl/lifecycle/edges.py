"""When a machine must end by itself, and what is held for it until then.

The edge is min(stopAt, money edge, launch + leaseTerm). It is part of the create itself, so no cap depends on anybody waking up.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from nodusctl.base.money import Money
from nodusctl.base.timestamps import parse_time
from nodusctl.ledger.balances import balances
from nodusctl.lifecycle.situation import Situation
from nodusctl.pricing import caps
from nodusctl.state.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """``runs_for`` from launch to the armed edge, ``hold_usd`` what is posted before the call.

    ``is_too_small`` where the cap leaves no time to boot and run a minute.
    """

    runs_for: timedelta
    hold_usd: Money
    is_too_small: bool = False


def edge_of(situation: Situation, terms: Terms) -> Edge:
    """The edge and first hold of a launch now (money.md, "Cap"; lifecycle.md, "The armed edge")."""
    billing = caps.BillingTerms.frozen(terms)
    longest = situation.rules.lease_term
    stop_at = stop_at_of(situation)
    if stop_at is not None and stop_at > situation.now:
        longest = min(longest, stop_at - situation.now)
    remaining = remaining_cap(situation)
    is_too_small = False
    if remaining is not None:
        point = caps.stop_point(billing, remaining)
        is_too_small = caps.cap_too_small(billing, remaining, terms.startup_p90) is not None
        longest = min(longest, point or timedelta(0))
    return Edge(runs_for=longest, hold_usd=caps.first_hold(billing, longest, remaining), is_too_small=is_too_small)


def remaining_cap(situation: Situation) -> Money | None:
    """Cap minus charges minus open holds; None without a cap."""
    cap = situation.cap_usd
    if cap is None:
        return None
    used = balances(situation.entries).object(situation.uid)
    return cap - used.held - used.charged


def stop_at_of(situation: Situation) -> datetime | None:
    """``spec.schedule.stopAt``, or None."""
    text = (situation.record.spec.get("schedule") or {}).get("stopAt")
    return parse_time(text) if isinstance(text, str) else None
