"""The plan itself: drafts, removals, offers, costs and every reason that stops it, in one pass over one World.

Order of Actions: what is referred to is made before what refers to it, and removed after it; the order never depends on the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.plan.actions import Action
from nodusctl.plan.plan import Plan
from nodusctl.planner.approving import with_reapprovals, with_terms
from nodusctl.planner.blocking import Considered, all_reasons
from nodusctl.planner.budget_notes import with_budget_notes
from nodusctl.planner.costs import costed
from nodusctl.planner.drafts import Asked, Draft, FormerDefaults, draft
from nodusctl.planner.due import due_steps
from nodusctl.planner.homes import home_actions
from nodusctl.planner.market import marketplace
from nodusctl.planner.moves import move_hints, moves_of, renamed_volumes
from nodusctl.planner.needs import need_of
from nodusctl.planner.noting import plan_hints
from nodusctl.planner.outside_reasons import with_hardware_back
from nodusctl.planner.removals import removals_by_absence, removals_by_word
from nodusctl.planner.seating import seated
from nodusctl.planner.storage import storage_needs
from nodusctl.planner.summing import storage_costs, totals, with_reasons
from nodusctl.planner.timetables import timetables
from nodusctl.planner.world import World
from nodusctl.resources.references import in_dependency_order

Specs = Mapping[Address, Mapping[str, Any]]


def build_plan(world: World, former_defaults: FormerDefaults) -> Plan:
    """The plan of one World. ``former_defaults`` fills in defaults of a spec that was applied before (``resources.decode``)."""
    moved, move_reasons = moves_of(world.resources, world.reach.written, world.snapshot)
    drafts = _drafts(world, moved, former_defaults)
    removals = _without_files(world) if not _compares_files(world) else removals_by_absence(world, moved.values())
    market = marketplace(world)
    drafts = with_hardware_back(with_reapprovals(drafts, market, world), world)
    specs = _specs(world, drafts)
    needs = [need for one in drafts if (need := need_of(one, world, moved, specs)) is not None]
    seats = seated(needs, market)
    costs = () if world.is_offline else tuple(costed(one, market, world) for one in seats)
    actions = with_budget_notes((*with_terms(drafts, seats, market, world), *removals), world)
    storage = storage_costs(storage_needs(actions, costs, market, world))
    reasons = (
        *move_reasons,
        *all_reasons(Considered(drafts=drafts, moved=moved, removals=removals, costs=costs, market=market), specs, world),
    )
    lines = with_reasons((*(one.line for one in costs), *storage), reasons)
    left_out = {reason.address for reason in reasons if reason.is_always_skipped}
    return Plan(
        id=world.plan_id,
        created_at=world.now,
        created_by=world.created_by,
        basis=world.basis,
        allow=world.allow,
        actions=actions,
        costs=lines,
        totals=totals(line for line in lines if line.address not in left_out),
        reasons=reasons,
        due=tuple(due_steps(world)),
        burning=world.burning,
        timetables=timetables(drafts, actions, world),
        hints=(*move_hints(actions, world.snapshot), *plan_hints(actions, world)),
        diagnostics=world.diagnostics,
        ignored_fields=sum(one.ignored_fields for one in drafts),
        valid_until=min((line.valid_until for line in lines if line.valid_until is not None), default=None),
    )


def _drafts(world: World, moved: Mapping[Address, Address], former_defaults: FormerDefaults) -> tuple[Draft, ...]:
    if not _compares_files(world):
        return ()
    targets, renamed = frozenset(world.reach.targets), renamed_volumes(moved)
    chosen = [one for one in in_dependency_order(world.resources) if not targets or one.address in targets]
    restarts = frozenset(world.allow.restarts)
    return tuple(
        draft(
            one,
            world.snapshot,
            Asked(
                moved_from=moved.get(one.address),
                restarts=one.address in restarts,
                hmacs=world.secret_hmacs.get(one.address),
                renamed=renamed,
                ignored=world.ignored,
                now=world.now,
                window_lead=world.window_lead,
            ),
            former_defaults,
        )
        for one in chosen
    )


def _compares_files(world: World) -> bool:
    return world.removal is None and world.home_change is None


def _without_files(world: World) -> tuple[Action, ...]:
    return removals_by_word(world) if world.removal is not None else home_actions(world)


def _specs(world: World, drafts: Iterable[Draft]) -> Specs:
    """Every spec as it will be: the state's, under those of the plan."""
    return {
        **{standing.record.address: standing.record.spec for standing in world.snapshot},
        **{resource.address: resource.spec for resource in world.resources},
        **{one.address: one.desired for one in drafts},
    }
