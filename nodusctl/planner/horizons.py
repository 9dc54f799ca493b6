"""From when to when a Workspace's next session would run: what its estimate covers (money.md, "A Workspace's horizon is its window").

A session that apply starts itself, or that runs already, ends at the first end after it; else the next opening that isn't used counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from nodusctl.lifecycle.windows import WINDOWS, stop_after, upcoming
from nodusctl.planner.classes import is_up
from nodusctl.planner.needs import Need
from nodusctl.planner.world import World

RECOVERIES_PER_SESSION = 3
"""How often a lost machine of a session with a home may be replaced (lifecycle.md); each is an allocation of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSpan:
    """``ends_at`` is None where no time ends it; ``is_weekly`` where it is one of many."""

    launch_at: datetime
    ends_at: datetime | None
    is_weekly: bool = False


def session_span(need: Need, world: World) -> SessionSpan:
    """The session the estimate of ``need`` is about."""
    action, standing = need.draft.action, need.draft.standing
    annotations = action.annotations if action is not None else {}
    is_weekly = bool(annotations.get(WINDOWS, "").strip())
    session = standing.status.session if standing is not None and is_up(standing) else None
    if need.starts_now or session is not None:
        began_at = session.began_at if session is not None and not need.starts_now else world.now
        return SessionSpan(launch_at=world.now, ends_at=_ahead(stop_after(need.spec, annotations, began_at), world), is_weekly=is_weekly)
    used = standing.status.windows if standing is not None else None
    following = upcoming(need.spec, annotations, world.window_lead, world.now, standing=used, count=1)
    if following:
        return SessionSpan(launch_at=max(world.now, following[0].due), ends_at=following[0].end, is_weekly=is_weekly)
    return SessionSpan(launch_at=world.now, ends_at=_ahead(stop_after(need.spec, annotations, world.now), world), is_weekly=is_weekly)


def allocations_after_loss(need: Need) -> int:
    """How many machines may take the place of lost ones; none for a Workspace without a home."""
    return RECOVERIES_PER_SESSION if isinstance(need.spec.get("volume"), str) else 0


def _ahead(moment: datetime | None, world: World) -> datetime | None:
    return moment if moment is not None and moment > world.now else None
