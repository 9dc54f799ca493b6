"""The next openings of every Workspace with a schedule or windows, each with its cost at the rate that is, or would be, approved.

Nothing is observed for them: the clock, what is already used, and an approval say all of it. A parked Workspace has openings too, so that
a reader sees what Stopped holds back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money
from nodusctl.base.timestamps import parse_time
from nodusctl.lifecycle.windows import Opening, has_openings, upcoming, zone_of
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.timetables import PlannedOpening, Timetable
from nodusctl.planner.drafts import Draft
from nodusctl.planner.horizons import RECOVERIES_PER_SESSION
from nodusctl.planner.world import World
from nodusctl.pricing.sessions import session_figures
from nodusctl.state.snapshot import Standing
from nodusctl.state.status import WindowsStanding
from nodusctl.state.terms import Terms

OPENINGS_SHOWN = 3
_PARKED = "Stopped"

# Hundreds of alike Workspaces ask for the same figures.
_figures = lru_cache(maxsize=1024)(session_figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """One Workspace as it will be after the plan."""

    address: Address
    spec: Mapping[str, Any]
    annotations: Mapping[str, str]
    standing: Standing | None
    terms: Terms | None

    @property
    def used(self) -> WindowsStanding | None:
        return self.standing.status.windows if self.standing is not None else None


def timetables(drafts: Iterable[Draft], actions: Iterable[Action], world: World) -> tuple[Timetable, ...]:
    """Timetables by address; none for a plan that compares no files. ``actions`` carry the terms this plan would approve."""
    if world.removal is not None or world.home_change is not None:
        return ()
    planned = {action.address: action for action in actions}
    return tuple(_timetable(one, world) for one in sorted(_wanted(drafts, planned, world), key=lambda one: one.address))


def _wanted(drafts: Iterable[Draft], planned: Mapping[Address, Action], world: World) -> Iterator[_Wanted]:
    known: set[Address] = set()
    for draft in drafts:
        known |= {draft.address} | ({draft.action.moved_from} if draft.action is not None and draft.action.moved_from else set())
        if draft.address.kind == "workspace":
            action = planned.get(draft.address)
            annotations = action.annotations if action is not None else draft.standing.record.annotations if draft.standing else {}
            terms = action.terms[0] if action is not None and action.terms else _approved(draft.standing)
            one = _Wanted(address=draft.address, spec=draft.desired, annotations=annotations, standing=draft.standing, terms=terms)
            if has_openings(one.spec, one.annotations):
                yield one
    for standing in world.snapshot if world.reach.is_whole_project else ():
        record = standing.record
        is_going = record.deletion_requested_at is not None or _is_removed(planned.get(record.address))
        is_ours = record.address.kind == "workspace" and record.address not in known and not is_going
        if is_ours and has_openings(record.spec, record.annotations):
            yield _Wanted(
                address=record.address, spec=record.spec, annotations=record.annotations, standing=standing, terms=_approved(standing)
            )


def _is_removed(action: Action | None) -> bool:
    return action is not None and action.verb is Verb.DELETE


def _approved(standing: Standing | None) -> Terms | None:
    approval = standing.record.approval if standing is not None else None
    return approval.terms[0] if approval is not None and approval.terms else None


def _timetable(one: _Wanted, world: World) -> Timetable:
    following = upcoming(one.spec, one.annotations, world.window_lead, world.now, standing=one.used, count=OPENINGS_SHOWN)
    used = _passed_over(one)
    return Timetable(
        address=one.address,
        openings=tuple(_planned(opening, one, world) for opening in following),
        is_parked=one.spec.get("state", "Running") == _PARKED,
        skipped=parse_time(used.skipped) if used is not None else None,
        skipped_zone=zone_of(one.annotations),
        skip_reason=used.skip_reason if used is not None else "",
        skip_message=used.skip_message if used is not None else "",
    )


def _passed_over(one: _Wanted) -> WindowsStanding | None:
    """The standing where an opening was passed over and no session was held since; older ones are for the journal."""
    if one.used is None or not one.used.skipped or one.standing is None:
        return None
    status, skipped_at = one.standing.status, parse_time(one.used.skipped)
    began = (status.session.began_at,) if status.session is not None else ()
    ended = (status.last_session.ended_at,) if status.last_session is not None else ()
    return None if any(moment > skipped_at for moment in (*began, *ended)) else one.used


def _planned(opening: Opening, one: _Wanted, world: World) -> PlannedOpening:
    known = PlannedOpening(start=opening.start, due=opening.due, end=opening.end, zone=opening.zone)
    if one.terms is None or opening.end is None:
        return known
    recoveries = RECOVERIES_PER_SESSION if isinstance(one.spec.get("volume"), str) else 0
    span = opening.end - max(opening.due, world.now)
    found = _figures(one.terms, span, recoveries=recoveries, remaining=_remaining(one))
    return PlannedOpening(
        start=opening.start,
        due=opening.due,
        end=opening.end,
        zone=opening.zone,
        p50_usd=found.cost.p50,
        p90_usd=found.cost.p90,
        at_most_usd=found.at_most,
    )


def _remaining(one: _Wanted) -> Money | None:
    cap = one.spec.get("maxCostUSD")
    if not isinstance(cap, str):
        return None
    charged = one.standing.charged_usd if one.standing is not None else ZERO
    return max(Money.parse(cap) - charged, ZERO)
