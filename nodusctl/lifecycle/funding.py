"""Whether a Workspace is paid for (condition Funded), and how a stop for money saves a home that lives on the machine itself.

Funded is False from the moment nothing more can be held for it: a start or a renewal was refused for money, or its money edge has come.
Where the disk outlives the machine a save costs no compute, so the stop waits for the edge. Where it doesn't, the stop begins earlier, so
that the save ends before the money does; past the edge nothing is saved any more, and that is said.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.timestamps import format_time
from nodusctl.lifecycle.edges import MONEY_BOUNDS, REASON_OF
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.vanishing import ENDED
from nodusctl.lifecycle.written import with_condition
from nodusctl.state.status import ObjectStatus, StopReason

MONEY = frozenset({StopReason.MAX_COST_REACHED, StopReason.BUDGET_EXCEEDED, StopReason.UNFUNDED})
"""Reasons of a stop that are about money."""
_REFUSALS = {"CapTooSmall": StopReason.MAX_COST_REACHED, "BudgetExceeded": StopReason.BUDGET_EXCEEDED}
_REFUSALS["InsufficientCredits"] = StopReason.UNFUNDED
OUT_OF_MONEY = "its money ended before the save did"


def held_until(status: ObjectStatus, until: datetime, bound: str, now: datetime) -> ObjectStatus:
    """The status once money is held until an edge; False where behind that edge there is none to hold."""
    end = format_time(until.replace(microsecond=0))
    if bound in MONEY_BOUNDS:
        return with_condition(status, "Funded", False, str(REASON_OF[bound]), now, message=f"nothing more can be held for it after {end}")
    return with_condition(status, "Funded", True, "Held", now, message=f"held until {end}")


def refused_money(status: ObjectStatus, reason: str, now: datetime, message: str = "") -> ObjectStatus:
    """The status once a start or a session ended with ``reason``, a code or a stop reason; unchanged where it isn't about money."""
    named = _REFUSALS.get(reason, reason)
    if named not in MONEY:
        return status
    return with_condition(status, "Funded", False, str(named), now, message=message)


def saving_lead(situation: Situation, attempt: Attempt) -> timedelta:
    """How long before its money edge a session stops, to save what the machine's own disk holds: the save bound, or less where money says.

    A quarter of the session at most: a small sum isn't spent on saving alone.
    """
    platform, ready_at = situation.platform, attempt.timings.ready_at
    if platform is None or platform.disk_outlives_machine or situation.home is None or attempt.edge_at is None or ready_at is None:
        return timedelta(0)
    return min(situation.rules.save_bound, max(attempt.edge_at - ready_at, timedelta(0)) / 4)


def is_past_saving(situation: Situation, attempt: Attempt) -> bool:
    """True where a stop for money has come to its edge and each further minute of the machine still costs. An owner's stop always saves."""
    machine = situation.sightings.machine or attempt.machine
    has_stopped = machine is not None and machine.state in ENDED and machine.ended_at is not None
    return attempt.stop_reason in MONEY and not has_stopped and attempt.edge_at is not None and attempt.edge_at <= situation.now
