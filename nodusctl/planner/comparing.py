"""What everything costs while it runs, now and after a plan: the change a reviewer is asked to pay for.

Now is what was approved, after is what this plan would have approved; what apply leaves out stays as it is. The surprise: a Workspace
that is parked by its owner (``state: Stopped``) costs nothing on either side, one that only rests between two windows costs its rate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.base.quantities import quantity_units
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.comparison import NOTHING, UNKNOWN, Comparison, CostChange, Running, stored
from nodusctl.plan.costs import CostLine
from nodusctl.planner.market import Marketplace
from nodusctl.planner.world import World
from nodusctl.pricing.figures import monthly, storage_line
from nodusctl.state.snapshot import Standing

_COMPUTE = frozenset({"workspace", "function"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """What is there now by the address it will have, and what the plan says of it."""

    standings: Mapping[Address, Standing]
    actions: Mapping[Address, Action]
    lines: Mapping[Address, CostLine]
    left_out: Collection[Address | None]
    storage: Mapping[tuple[str, str], Money]


def comparison(
    actions: Iterable[Action], lines: Iterable[CostLine], left_out: Collection[Address | None], market: Marketplace, world: World
) -> Comparison | None:
    """Both sides of the plan; None for a plan without a change and for one made offline, where no price was asked for."""
    by_address = {action.address: action for action in actions}
    if world.is_offline or not by_address:
        return None
    moved = {action.moved_from: address for address, action in by_address.items() if action.moved_from is not None}
    standings = {moved.get(one.record.address, one.record.address): one for one in world.snapshot}
    sides = _Sides(
        standings=standings,
        actions=by_address,
        lines={line.address: line for line in lines},
        left_out=left_out,
        storage=_storage_prices(market),
    )
    pairs = {address: (_now(address, sides), _after(address, sides)) for address in sorted({*standings, *by_address, *sides.lines})}
    return Comparison(
        now=reduce(Running.__add__, (now for now, _ in pairs.values()), NOTHING),
        after=reduce(Running.__add__, (after for _, after in pairs.values()), NOTHING),
        changes=tuple(CostChange(address=address, now=now, after=after) for address, (now, after) in pairs.items() if now != after),
    )


def _now(address: Address, sides: _Sides) -> Running:
    standing = sides.standings.get(address)
    if standing is None or standing.record.deletion_requested_at is not None:
        return NOTHING
    if address.kind == "volume":
        return _stored(standing, sides.storage)
    return NOTHING if _is_parked(standing.record.spec) else approved_running(standing)


def _after(address: Address, sides: _Sides) -> Running:
    action, line, standing = sides.actions.get(address), sides.lines.get(address), sides.standings.get(address)
    if address in sides.left_out:
        return _now(address, sides)
    if action is not None and action.verb is Verb.DELETE:
        return NOTHING
    if address.kind == "volume":
        return stored(line.p50_usd) if line is not None else _now(address, sides)
    if address.kind not in _COMPUTE or (action is None and standing is None):
        return NOTHING
    spec = action.spec if action is not None and action.spec is not None else standing.record.spec if standing is not None else {}
    if _is_parked(spec):
        return NOTHING
    if line is not None:
        return _at(line.rate_usd_per_hour, spec)
    if standing is None:
        return UNKNOWN
    return NOTHING if standing.record.deletion_requested_at is not None else approved_running(standing)


def approved_running(standing: Standing) -> Running:
    """What the last applied plan approved; nothing for what was never approved, which can't run."""
    approval = standing.record.approval
    if standing.record.address.kind not in _COMPUTE or approval is None or not approval.terms:
        return NOTHING
    return _at(approval.terms[0].rate_usd_per_hour, standing.record.spec)


def _at(rate: Money | None, spec: Mapping[str, Any]) -> Running:
    if rate is None:
        return UNKNOWN
    scaling = spec.get("scaling")
    machines = scaling.get("minWorkers", 0) * (spec.get("cluster") or {}).get("size", 1) if scaling is not None else 1
    return _running(rate, machines)


@lru_cache(maxsize=1024)
def _running(rate: Money, machines: int) -> Running:
    """Hundreds of alike Workspaces have one rate; its exact month is what a large plan would spend its time on."""
    return Running(rate_usd_per_hour=rate * machines, monthly_usd=monthly(rate, machines))


def _storage_prices(market: Marketplace) -> dict[tuple[str, str], Money]:
    """USD per GiB-month by provider and location, of the first offer there that says it."""
    found: dict[tuple[str, str], Money] = {}
    for one in market.candidates:
        if one.priced.storage_usd_per_gib_month is not None:
            found.setdefault((one.candidate.offer.provider, one.candidate.offer.location), one.priced.storage_usd_per_gib_month)
    return found


def _stored(standing: Standing, storage: Mapping[tuple[str, str], Money]) -> Running:
    """A Volume's disk as its record says it is; nothing before its first machine made one."""
    disk = standing.status.volume
    if disk is None or not disk.disk_id:
        return NOTHING
    size = quantity_units(str(standing.record.spec.get("size", "50Gi")))
    price = storage.get((disk.provider, disk.location))
    return stored(storage_line(standing.record.address.name, size, price).monthly)


def _is_parked(spec: Mapping[str, Any]) -> bool:
    return spec.get("state") == "Stopped"
