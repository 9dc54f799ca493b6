"""The plan itself: drafts, removals, offers, costs and every reason that stops it, in one pass over one World.

Order of Actions: what is referred to is made before what refers to it, and removed after it; the order never depends on the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.costs import CostLine
from nodusctl.plan.plan import Plan
from nodusctl.plan.reasons import BlockingReason
from nodusctl.planner.budgets import BudgetStanding, block_budgets
from nodusctl.planner.capacity_reasons import capacity_reasons, provider_reasons
from nodusctl.planner.costs import Costed, costed, storage_costs, totals
from nodusctl.planner.drafts import Asked, Draft, FormerDefaults, draft
from nodusctl.planner.due import due_steps
from nodusctl.planner.market import Marketplace, marketplace
from nodusctl.planner.money_reasons import age_reasons, budget_reasons, cap_reasons, edge_reasons, edge_warnings, policy_reasons
from nodusctl.planner.moves import move_hints, moves_of, renamed_volumes
from nodusctl.planner.needs import need_of
from nodusctl.planner.noting import notes_for, plan_hints
from nodusctl.planner.object_reasons import intent_reasons, leaving_reasons, mutability_reasons, volume_reasons
from nodusctl.planner.removals import removal_reasons, removals_by_absence, removals_by_word
from nodusctl.planner.seating import Seated, seated, terms_of
from nodusctl.planner.storage import storage_needs
from nodusctl.planner.world import World
from nodusctl.resources.references import in_dependency_order

Specs = Mapping[Address, Mapping[str, Any]]


def build_plan(world: World, former_defaults: FormerDefaults) -> Plan:
    """The plan of one World. ``former_defaults`` fills in defaults of a spec that was applied before (``resources.decode``)."""
    moved, move_reasons = moves_of(world.resources, world.reach.written, world.snapshot)
    drafts = _drafts(world, moved, former_defaults)
    removals = removals_by_word(world) if world.removal is not None else removals_by_absence(world, moved.values())
    market = marketplace(world)
    specs = _specs(world, drafts)
    needs = [need for one in drafts if (need := need_of(one, world, moved, specs)) is not None]
    seats = seated(needs, market)
    costs = tuple(_with_edge_warning(costed(one, market, world), market) for one in seats)
    actions = (*_with_terms(drafts, seats, market, world), *removals)
    storage = storage_costs(storage_needs(actions, costs, market, world))
    budgets = _budgets(world, specs)
    reasons = (
        *move_reasons,
        *_reasons(world, drafts, moved, removals),
        *capacity_reasons(seats, market, world),
        *provider_reasons(world, seats),
        *cap_reasons(costs),
        *edge_reasons(costs, budgets, market, world),
        *budget_reasons(costs, budgets, world),
        *age_reasons(costs, world),
        *policy_reasons([one.line for one in costs], _standing_rates(world, removals), world),
    )
    lines = tuple(_with_reasons(line, reasons) for line in (*(one.line for one in costs), *storage))
    return Plan(
        id=world.plan_id,
        created_at=world.now,
        created_by=world.created_by,
        basis=world.basis,
        allow=world.allow,
        actions=actions,
        costs=lines,
        totals=totals(lines),
        reasons=reasons,
        due=tuple(due_steps(world)),
        hints=(*move_hints(actions, world.snapshot), *plan_hints(actions, world)),
        diagnostics=world.diagnostics,
        ignored_fields=sum(one.ignored_fields for one in drafts),
        valid_until=min((line.valid_until for line in lines if line.valid_until is not None), default=None),
    )


def _drafts(world: World, moved: Mapping[Address, Address], former_defaults: FormerDefaults) -> tuple[Draft, ...]:
    if world.removal is not None:
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
            ),
            former_defaults,
        )
        for one in chosen
    )


def _with_terms(drafts: Iterable[Draft], seats: Iterable[Seated], market: Marketplace, world: World) -> tuple[Action, ...]:
    by_address = {one.need.address: one for one in seats}
    actions = []
    for one in drafts:
        if one.action is None:
            continue
        seat = by_address.get(one.address)
        terms = terms_of(seat, market, world.book.version) if seat is not None else ()
        notes = notes_for(one, seat, market, world)
        actions.append(replace(one.action, terms=terms, notes=(*one.action.notes, *notes)))
    return tuple(actions)


def _reasons(
    world: World, drafts: tuple[Draft, ...], moved: Mapping[Address, Address], removals: tuple[Action, ...]
) -> tuple[BlockingReason, ...]:
    return (
        *leaving_reasons(drafts),
        *mutability_reasons(drafts),
        *volume_reasons(drafts, world, moved),
        *intent_reasons(world),
        *removal_reasons(removals, world),
    )


def _specs(world: World, drafts: Iterable[Draft]) -> Specs:
    """Every spec as it will be: the state's, under those of the plan."""
    return {
        **{standing.record.address: standing.record.spec for standing in world.snapshot},
        **{resource.address: resource.spec for resource in world.resources},
        **{one.address: one.desired for one in drafts},
    }


def _budgets(world: World, specs: Specs) -> tuple[BudgetStanding, ...]:
    labels = {standing.record.uid: standing.record.labels for standing in world.snapshot}
    return block_budgets(specs, world.entries, labels, world.basis.project, world.now)


def _standing_rates(world: World, removals: Iterable[Action]) -> dict[Address, Money]:
    """What every Workspace that may run costs an hour by its approval, before this plan."""
    going = {action.address for action in removals if action.verb is Verb.DELETE}
    return {
        standing.record.address: standing.record.approval.terms[0].rate_usd_per_hour
        for standing in world.snapshot
        if standing.record.approval is not None and standing.record.approval.terms
        if standing.record.spec.get("state") != "Stopped" and standing.record.address not in going
    }


def _with_edge_warning(one: Costed, market: Marketplace) -> Costed:
    warnings = edge_warnings(one, market)
    return replace(one, line=replace(one.line, warnings=(*one.line.warnings, *warnings))) if warnings else one


def _with_reasons(line: CostLine, reasons: Iterable[BlockingReason]) -> CostLine:
    own = [{"code": r.code, "message": r.message, "fix": r.fix} for r in reasons if r.address == line.address]
    return replace(line, estimate={**line.estimate, "blockingReasons": own}) if own else line
