"""The cost table: one line an object that changes, storage on a line of its own, and the totals.

The surprise: an object that can't be placed has a line too. It carries the funnel, so that text and JSON tell the same story.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from nodusctl.base.durations import format_duration
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.base.quantities import quantity_units, shown_bytes
from nodusctl.placement.allocate import Queued
from nodusctl.placement.funnel import Funnel
from nodusctl.plan.costs import CostLine
from nodusctl.plan.plan import Totals
from nodusctl.planner.market import Marketplace
from nodusctl.planner.needs import Need
from nodusctl.planner.seating import Seated
from nodusctl.planner.world import World
from nodusctl.pricing.estimate import Basis, EstimateFigures, FunctionRun, WorkspaceRun, estimate_function, estimate_workspace
from nodusctl.pricing.estimate_status import estimate_status
from nodusctl.pricing.figures import Figure, StorageLine, storage_line, sum_figures, sum_known
from nodusctl.pricing.holds import Priced

STORAGE_HORIZON = "730 h a month"


@dataclass(frozen=True, slots=True, kw_only=True)
class Costed:
    """A line with the figures it was made from; None where the object met no offer."""

    seated: Seated
    line: CostLine
    figures: EstimateFigures | None
    priced: Priced | None
    stop_bound: timedelta = timedelta(0)

    @property
    def labels(self) -> Mapping[str, str]:
        """The object's labels as they will be, for Budgets with a selector."""
        action = self.seated.need.draft.action
        return action.labels if action is not None else {}


def costed(one: Seated, market: Marketplace, world: World) -> Costed:
    """The line of one object."""
    funnel = _funnel(one.found.matching.funnel)
    choice = one.choice or (one.found.unpriced[0] if one.found.unpriced else None)
    if choice is None:
        line = CostLine(address=one.need.address, is_at_least=True, funnel=funnel)
        return Costed(seated=one, line=line, figures=None, priced=None)
    offer = choice.candidate.offer
    basis = Basis(
        offer=offer,
        priced=market.priced(offer.key, one.need.pool_rate),
        startup=market.bands[offer.key],
        stop_bound=market.descriptions[offer.provider].stop_bound,
        book_version=world.book.version,
        now=world.now,
        explain=one.found.matching.funnel.shown,
    )
    figures = _figures(basis, one.need, world)
    line = _line(one, basis, figures, world, funnel)
    return Costed(seated=one, line=line, figures=figures, priced=basis.priced, stop_bound=basis.stop_bound)


def storage_costs(volumes: Iterable[tuple[Address, Mapping[str, Any], Money | None]]) -> tuple[CostLine, ...]:
    """A line for each Volume that will have a disk: ``(address, spec, USD per GiB-month or None)``."""
    lines = []
    for address, spec, rate in volumes:
        disk = storage_line(address.name, quantity_units(str(spec.get("size", "50Gi"))), rate)
        lines.append(
            CostLine(
                address=address,
                p50_usd=disk.monthly,
                p90_usd=disk.monthly,
                at_most_usd=disk.monthly,
                is_at_least=disk.monthly is None,
                horizon=STORAGE_HORIZON,
                lines=(_shown_storage(disk),),
            )
        )
    return tuple(lines)


def totals(lines: Iterable[CostLine]) -> Totals | None:
    """Sums of the three columns; None where there is nothing to sum. An unknown amount is left out and said ("at least")."""
    counted = tuple(lines)
    if not counted:
        return None
    most = sum_figures(_most(line) for line in counted)
    p50, p90 = sum_known(line.p50_usd for line in counted), sum_known(line.p90_usd for line in counted)
    return Totals(
        p50_usd=p50.amount,
        p90_usd=p90.amount,
        at_most_usd=most.amount,
        is_at_least=p50.is_at_least or p90.is_at_least or most.is_at_least,
        has_limit=most.has_limit,
    )


def _most(line: CostLine) -> Figure:
    amount = line.at_most_usd
    return (
        Figure(amount=amount, has_limit=line.has_limit)
        if amount is not None
        else Figure(is_at_least=line.has_limit, has_limit=line.has_limit)
    )


def _figures(basis: Basis, need: Need, world: World) -> EstimateFigures:
    spec = need.spec
    if need.address.kind == "function":
        scaling = spec.get("scaling") or {}
        run = FunctionRun(
            min_workers=scaling.get("minWorkers", 0),
            max_workers=scaling.get("maxWorkers", 10),
            nodes=(spec.get("cluster") or {}).get("size", 1),
            remaining=need.remaining,
            lease_term=world.lease_term,
        )
        return estimate_function(basis, run)
    launch_at = need.launch_at(world.now)
    return estimate_workspace(
        basis, WorkspaceRun(launch_at=launch_at, window_end=need.stop_at, remaining=need.remaining, lease_term=world.lease_term)
    )


def _line(one: Seated, basis: Basis, figures: EstimateFigures, world: World, funnel: tuple[tuple[str, int], ...]) -> CostLine:
    priced, cost, most = basis.priced, figures.cost, figures.at_most
    ends_after = figures.runs_for if one.need.starts_now else None
    return CostLine(
        address=one.need.address,
        offering=basis.offer.id,
        offer_key=basis.offer.key,
        rate_usd_per_hour=figures.rate,
        p50_usd=cost.p50 if cost is not None else None,
        p90_usd=cost.p90 if cost is not None else None,
        at_most_usd=most.amount if most.has_limit and not most.is_at_least else None,
        has_limit=most.has_limit,
        is_at_least=most.is_at_least or figures.rate is None,
        horizon=figures.horizon.value,
        hold_usd=figures.concurrent_hold if one.need.address.kind == "function" else figures.hold,
        price_source=priced.source,
        price_origin=priced.origin.value,
        price_observed_at=priced.observed_at,
        price_age=priced.shown_age,
        valid_until=figures.valid_until,
        band_source=figures.startup_cold.shown_origin,
        stops_at=one.need.launch_at(world.now) + ends_after if ends_after is not None else None,
        lines=_extra_lines(one, figures, world),
        funnel=funnel,
        warnings=(*((w.code, w.message) for w in figures.warnings), *_queued(one)),
        estimate=estimate_status(figures),
    )


def _extra_lines(one: Seated, figures: EstimateFigures, world: World) -> tuple[str, ...]:
    if one.need.address.kind == "function":
        most_workers = (one.need.spec.get("scaling") or {}).get("maxWorkers", 10)
        return (figures.warm_capacity, f"at most {most_workers} workers at once")
    term = format_duration(world.lease_term)
    return (f"each start ends itself after {term} at the latest, unless it is renewed",)


def _queued(one: Seated) -> tuple[tuple[str, str], ...]:
    match one.seating:
        case Queued(free_from=None, why=why):
            return (("Queued", f"Capacity is {why} now: it waits in Pending."),)
        case Queued(free_from=moment, why=why) if moment is not None:
            return (("Queued", f"Ready about {moment:%H:%M} UTC: {why}."),)
    return ()


def _funnel(funnel: Funnel) -> tuple[tuple[str, int], ...]:
    return (("offers", funnel.total), *((step.constraint, step.remaining) for step in funnel.steps))


def _shown_storage(disk: StorageLine) -> str:
    size = shown_bytes(disk.size_bytes)
    if disk.usd_per_gib_month is None or disk.monthly is None:
        return f"storage {size}: price unknown"
    return f"storage {size} x {disk.usd_per_gib_month.shown} per GiB-month = {disk.monthly.shown} a month"
