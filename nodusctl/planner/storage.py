"""Which Volumes will cost storage after this plan, and at which price: that of the place where their machine is, or will be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.plan.actions import Action, Verb
from nodusctl.planner.costs import Costed
from nodusctl.planner.market import Marketplace
from nodusctl.planner.world import World
from nodusctl.state.status import VolumeStanding

StorageNeed = tuple[Address, Mapping[str, Any], Money | None]


def storage_needs(actions: Iterable[Action], costs: Iterable[Costed], market: Marketplace, world: World) -> tuple[StorageNeed, ...]:
    """Volumes this plan makes, changes or keeps, and homes of what it starts; a Volume without a place and a user is free and left out."""
    by_user = dict(_by_user(costs))
    named = {action.address: action for action in actions if action.address.kind == "volume" and action.verb is not Verb.DELETE}
    specs = {resource.address: resource.spec for resource in world.resources}
    found: list[StorageNeed] = []
    for address in sorted({*named, *by_user}):
        standing = world.snapshot.get(address)
        disk = standing.status.volume if standing is not None else None
        spec = specs.get(address) or (standing.record.spec if standing is not None else {})
        if disk is not None and disk.disk_id:
            found.append((address, spec, _price_at(disk, market)))
        elif address in by_user:
            found.append((address, spec, by_user[address]))
    return tuple(found)


def _by_user(costs: Iterable[Costed]) -> Iterator[tuple[Address, Money | None]]:
    """The home of each Workspace that met a priced offer, at that offer's storage price."""
    for one in costs:
        name = one.seated.need.spec.get("volume")
        if isinstance(name, str) and one.priced is not None and one.seated.need.address.kind == "workspace":
            yield Address("volume", name), one.priced.storage_usd_per_gib_month


def _price_at(disk: VolumeStanding, market: Marketplace) -> Money | None:
    for one in market.candidates:
        offer = one.candidate.offer
        if (offer.provider, offer.location) == (disk.provider, disk.location) and one.priced.storage_usd_per_gib_month is not None:
            return one.priced.storage_usd_per_gib_month
    return None
