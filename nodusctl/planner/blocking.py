"""Every reason that stops this plan, collected at once: a person mends them all before the next try, not one a try."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.ledger.storage import stretches_of
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.reasons import BlockingReason
from nodusctl.planner.budgets import block_budgets
from nodusctl.planner.capacity_reasons import capacity_reasons, provider_reasons
from nodusctl.planner.costs import Costed
from nodusctl.planner.drafts import Draft
from nodusctl.planner.homes import home_reasons
from nodusctl.planner.market import Marketplace
from nodusctl.planner.money_reasons import age_reasons, budget_reasons, cap_reasons, credit_reasons, edge_reasons
from nodusctl.planner.object_reasons import intent_reasons, leaving_reasons, mutability_reasons, volume_reasons
from nodusctl.planner.outside_reasons import foreign_reasons, stranded_reasons
from nodusctl.planner.removals import removal_reasons
from nodusctl.planner.secret_reasons import secret_reasons
from nodusctl.planner.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """What the plan has come to so far."""

    drafts: tuple[Draft, ...]
    moved: Mapping[Address, Address]
    removals: tuple[Action, ...]
    costs: tuple[Costed, ...]
    market: Marketplace


def all_reasons(found: Considered, specs: Mapping[Address, Mapping[str, Any]], world: World) -> tuple[BlockingReason, ...]:
    """Reasons of the objects themselves, then of capacity, then of money. ``specs`` are all specs as they will be."""
    labels = {standing.record.uid: standing.record.labels for standing in world.snapshot}
    going = {action.address for action in found.removals if action.verb is Verb.DELETE}
    staying = {address: spec for address, spec in specs.items() if address not in going}
    budgets = block_budgets(staying, world.tally, labels, world.basis.project, world.now, storage=stretches_of(world.snapshot))
    costs, market = found.costs, found.market
    seats = tuple(one.seated for one in costs)
    return (
        *leaving_reasons(found.drafts),
        *mutability_reasons(found.drafts),
        *volume_reasons(found.drafts, world, found.moved),
        *intent_reasons(world),
        *stranded_reasons(world),
        *foreign_reasons(found.drafts, world),
        *removal_reasons(found.removals, world),
        *home_reasons(world),
        *secret_reasons(found.drafts, specs, world),
        *capacity_reasons(seats, market, world),
        *provider_reasons(world, seats),
        *cap_reasons(costs),
        *edge_reasons(costs, budgets, world),
        *budget_reasons(costs, budgets, world),
        *credit_reasons(costs, world),
        *age_reasons(costs, world),
    )
