"""The plan itself: changes, offers, costs and every reason that stops it, in one pass over one World.

Order of Actions: what is referred to is made before what refers to it, and removed after it; the order never depends on the files.
"""

from __future__ import annotations

from nodusctl.plan.plan import Plan
from nodusctl.planner.approving import with_reapprovals, with_terms
from nodusctl.planner.base_moved import base_moved_hints
from nodusctl.planner.blocking import Considered, all_reasons
from nodusctl.planner.budget_notes import with_budget_notes
from nodusctl.planner.changing import changes_of
from nodusctl.planner.comparing import comparison
from nodusctl.planner.costs import costed
from nodusctl.planner.drafts import FormerDefaults
from nodusctl.planner.due import due_steps
from nodusctl.planner.market import marketplace
from nodusctl.planner.moves import move_hints
from nodusctl.planner.needs import need_of
from nodusctl.planner.noting import plan_hints
from nodusctl.planner.outside_reasons import with_hardware_back
from nodusctl.planner.policy import cost_policy, placement_policy
from nodusctl.planner.running_on import running_on
from nodusctl.planner.seating import seated
from nodusctl.planner.storage import storage_needs
from nodusctl.planner.summing import storage_costs, totals, with_reasons
from nodusctl.planner.timetables import timetables
from nodusctl.planner.world import World


def build_plan(world: World, former_defaults: FormerDefaults) -> Plan:
    """The plan of one World. ``former_defaults`` fills in defaults of a spec that was applied before (``resources.decode``)."""
    market = marketplace(world)
    changes = changes_of(world, lambda drafts: with_hardware_back(with_reapprovals(drafts, market, world), world), former_defaults)
    drafts, specs = changes.drafts, changes.specs
    needs = [need for one in drafts if (need := need_of(one, world, changes.moved, specs)) is not None]
    seats = seated(needs, market, world.outside.ends)
    costs = () if world.is_offline else tuple(costed(one, market, world) for one in seats)
    actions = with_budget_notes((*with_terms(drafts, seats, market, world), *changes.removals), world)
    storage = storage_costs(storage_needs(actions, costs, market, world))
    considered = Considered(drafts=drafts, moved=changes.moved, removals=changes.removals, costs=costs, market=market)
    reasons = (*changes.reasons, *all_reasons(considered, specs, world), *placement_policy(actions, market, world))
    lines = with_reasons((*(one.line for one in costs), *storage), reasons)
    left_out = {reason.address for reason in reasons if reason.is_always_skipped}
    compared = comparison(actions, lines, left_out, market, world)
    accepted = base_moved_hints(changes.undone, is_accepted=world.allow.accepts_base_moved)
    return Plan(
        id=world.plan_id,
        created_at=world.now,
        created_by=world.created_by,
        basis=world.basis,
        allow=world.allow,
        actions=actions,
        costs=lines,
        totals=totals(line for line in lines if line.address not in left_out),
        comparison=compared,
        reasons=(*reasons, *cost_policy(compared, world.policy)),
        due=tuple(due_steps(world)),
        burning=world.burning,
        running_on=tuple(running_on(actions, world.snapshot)),
        timetables=timetables(drafts, actions, world),
        hints=(*move_hints(actions, world.snapshot), *accepted, *plan_hints(actions, world)),
        diagnostics=world.diagnostics,
        ignored_fields=sum(one.ignored_fields for one in drafts),
        valid_until=min((line.valid_until for line in lines if line.valid_until is not None), default=None),
    )
