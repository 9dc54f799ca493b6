"""What a fresh plan comes to before any provider is asked, with all that only a provider can tell taken as it was reviewed.

Where even that isn't the reviewed plan, no provider's answer can make it so: the difference lies in the files, the state, the base branch
or what the person allowed. The other way round says nothing, because an offer or its price may still differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nodusctl.plan.actions import Action
from nodusctl.plan.hashing import asks_the_same
from nodusctl.plan.plan import Plan
from nodusctl.planner.approving import may_be_reapproved, reapproved
from nodusctl.planner.changing import changes_of
from nodusctl.planner.drafts import Draft, FormerDefaults
from nodusctl.planner.outside_reasons import restarted_for_hardware
from nodusctl.planner.world import World


def as_reviewed(world: World, reviewed: Plan, former_defaults: FormerDefaults) -> Plan:
    """The Actions of ``world``, whose markets are not looked at, with the offers of ``reviewed``.

    It has the hash of ``reviewed`` wherever some answer of the providers gives a plan with that hash. It is for comparing only: it has no
    costs and no reasons.
    """
    wanted = {action.address: action for action in reviewed.actions}
    changes = changes_of(world, lambda drafts: tuple(_nearest(one, wanted.get(one.address), world) for one in drafts), former_defaults)
    made = (*(one.action for one in changes.drafts if one.action is not None), *changes.removals)
    actions = tuple(replace(one, terms=wanted[one.address].terms) if one.address in wanted else one for one in made)
    return Plan(id=world.plan_id, created_at=world.now, created_by=world.created_by, basis=world.basis, allow=world.allow, actions=actions)


def _nearest(one: Draft, wanted: Action | None, world: World) -> Draft:
    """The draft as the reviewed plan has it, where a provider can make that of it; else as like it as a provider can make it."""
    if wanted is None:
        return one
    possible = [(draft, draft.action) for draft in _possible(one, world) if draft.action is not None]
    same = (draft for draft, action in possible if asks_the_same(action, wanted))
    alike = (draft for draft, action in possible if action.verb is wanted.verb)
    return next(same, next(alike, one))


def _possible(one: Draft, world: World) -> Iterator[Draft]:
    """Everything providers can make of a draft: nothing, today's prices to approve, a restart on the hardware it was made with."""
    forms = (one, reapproved(one, world)) if may_be_reapproved(one) else (one,)
    yield from forms
    for form in forms:
        yield restarted_for_hardware(form, world, changed=())
