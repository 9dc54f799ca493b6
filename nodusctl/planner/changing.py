"""What a plan changes, before anybody asks what it costs: moves, drafts of what the files have, removals; and what base did is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.plan.actions import Action
from nodusctl.plan.reasons import BlockingReason
from nodusctl.planner.base_moved import BaseWork, base_moved_reasons, unasked_removals, undone_by, without
from nodusctl.planner.drafts import Asked, Draft, FormerDefaults, draft
from nodusctl.planner.homes import home_actions
from nodusctl.planner.moves import moves_of, renamed_volumes
from nodusctl.planner.removals import removals_by_absence, removals_by_word
from nodusctl.planner.world import World
from nodusctl.resources.references import in_dependency_order

Specs = Mapping[Address, Mapping[str, Any]]
ToldOutside = Callable[[tuple[Draft, ...]], tuple[Draft, ...]]
"""What providers tell changes these drafts: an Action more, or a heavier one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """``moved`` maps a new address to the one it had. ``undone`` is work of the base branch that this branch hasn't seen and would undo.

    ``specs`` are all specs as they will be.
    """

    drafts: tuple[Draft, ...]
    removals: tuple[Action, ...]
    moved: Mapping[Address, Address]
    specs: Specs
    undone: Mapping[Address, BaseWork] = field(default_factory=dict)
    reasons: tuple[BlockingReason, ...] = ()


def changes_of(world: World, told_outside: ToldOutside, former_defaults: FormerDefaults) -> Changes:
    """What the files, the person's word, the outside and the base branch come to."""
    moved, move_reasons = moves_of(world.resources, world.reach.written, world.snapshot)
    drafts = _drafts(world, moved, former_defaults)
    removals = removals_by_absence(world, moved.values()) if _compares_files(world) else _without_files(world)
    drafts = told_outside(drafts)
    undone = undone_by((*(one.action for one in drafts if one.action is not None), *removals), world.base, world.snapshot)
    is_accepted = world.allow.accepts_base_moved
    drafts = drafts if is_accepted else tuple(_own(drafts, undone))
    removals = without(removals, undone, is_accepted=is_accepted)
    return Changes(
        drafts=drafts,
        removals=removals,
        moved=moved,
        specs=_specs(world, drafts),
        undone=undone,
        reasons=(
            *move_reasons,
            *base_moved_reasons(undone, world.base, is_accepted=is_accepted),
            *unasked_removals(removals, needs_word=world.removals_need_a_word and _compares_files(world)),
        ),
    )


def _own(drafts: Iterable[Draft], undone: Mapping[Address, BaseWork]) -> Iterable[Draft]:
    """The drafts without what would undo work of base: there the state stays as it is."""
    for one in drafts:
        if one.address not in undone:
            yield one
        elif one.standing is not None:
            yield replace(one, action=None, desired=one.standing.record.spec)


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
