"""Remarks of a plan that block nothing: tools left out, who may log in, what is asked for at apply."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from nodusctl.lifecycle.windows import has_openings
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.changes import ChangeClass
from nodusctl.planner.classes import is_up
from nodusctl.planner.drafts import Draft
from nodusctl.planner.market import Marketplace, served_tools
from nodusctl.planner.removals import session_end_notes
from nodusctl.planner.seating import Seated
from nodusctl.planner.world import World

PLANNED_OFFLINE = "planned offline: no offer was asked for"
"""The remark on an Action that apply refuses: it needs an offer and has none."""
_ENDING = frozenset({ChangeClass.ENDS_SESSION, ChangeClass.RESTARTS, ChangeClass.REPLACES})


def notes_for(one: Draft, seat: Seated | None, market: Marketplace, world: World) -> tuple[str, ...]:
    """Remarks on one Action."""
    return (*_ended_session(one, world), *_left_out_tools(seat, market), *_offline(one, seat, world), *_admitted_stopped(one))


def plan_hints(actions: Collection[Action], world: World) -> Iterator[str]:
    """Remarks on the plan as a whole."""
    starts = any(action.address.kind == "workspace" and action.verb is Verb.CREATE for action in actions)
    known = {standing.record.address for standing in world.snapshot} | world.reach.written
    if starts and not any(address.kind == "sshkey" and address.name != "cli" for address in known):
        yield "The project has no SSHKey of its own; SSHKey cli (this person's key on this computer) may log in."
    if any(action.verb is Verb.CREATE and _waits_for_time(action) for action in actions):
        yield "nodusctl tick opens windows, so let cron run it (docs/time.md). A machine ends itself with its window, its cap or its use."
    used = {terms.provider for action in actions for terms in action.terms}
    for market in world.markets:
        if market.description is not None and market.instance in used:
            yield from (f"{market.instance}: {note}" for note in market.description.notes)
    for address in world.allow.restarts:
        standing = world.snapshot.get(address)
        if standing is None or not is_up(standing):
            yield f"{address} doesn't run, so there is nothing to restart."


def _ended_session(one: Draft, world: World) -> tuple[str, ...]:
    if one.action is None or one.standing is None or one.action.change_class not in _ENDING:
        return ()
    before = "it ends" if one.action.change_class is ChangeClass.ENDS_SESSION else "the restart"
    return session_end_notes(one.standing, world, before=before)


def _waits_for_time(action: Action) -> bool:
    return action.address.kind == "workspace" and has_openings(action.spec or {}, action.annotations)


def _left_out_tools(seat: Seated | None, market: Marketplace) -> Iterator[str]:
    """A tool that stands only in the default list is left out where the offer can't serve it."""
    choice = seat.choice if seat is not None else None
    if seat is None or choice is None or seat.need.written_tools or seat.need.address.kind != "workspace":
        return
    served = served_tools(market.descriptions[choice.candidate.offer.provider])
    left_out = [tool for tool in seat.need.spec.get("tools") or () if tool not in served]
    if left_out:
        yield f"{choice.candidate.offer.provider} doesn't serve {', '.join(left_out)}; left out"


def _offline(one: Draft, seat: Seated | None, world: World) -> Iterator[str]:
    if seat is not None and world.is_offline:
        yield PLANNED_OFFLINE


def _admitted_stopped(one: Draft) -> Iterator[str]:
    action = one.action
    if (
        action is not None
        and action.verb is Verb.CREATE
        and one.address.kind == "workspace"
        and action.change_class is not ChangeClass.STARTS
    ):
        yield "starts nothing now; the offers below are approved for later starts"
