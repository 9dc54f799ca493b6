"""Until when a stop should have been confirmed. Past that, somebody should be told: a machine that doesn't end goes on costing money."""

from __future__ import annotations

from datetime import datetime, timedelta

from nodusctl.lifecycle.situation import Situation
from nodusctl.state.status import Phase

_SLACK = timedelta(minutes=5)
_ENDING = frozenset({Phase.STOPPING, Phase.TERMINATING})


def release_due_by(situation: Situation) -> datetime | None:
    """When the machine of a stop should be gone at the latest; None where none is left to go.

    The stop was asked for, users are asked to leave, a home on the machine's own disk is saved first, and the provider has its bound.
    """
    attempt, rules = situation.attempt, situation.rules
    if situation.status.phase not in _ENDING or attempt is None or attempt.machine is None or attempt.is_released:
        return None
    asked_at, terms = attempt.timings.stop_asked_at, attempt.terms
    if asked_at is None or terms is None:
        return None
    platform = situation.platform
    saves_first = situation.home is not None and platform is not None and not platform.disk_outlives_machine
    return asked_at + rules.quiesce_grace + (rules.save_bound if saves_first else timedelta(0)) + terms.stop_bound + _SLACK
