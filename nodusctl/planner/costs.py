"""The cost line of each Workspace and Function that changes.

The surprise: an object that can't be placed has a line too. It carries the funnel, so that text and JSON tell the same story.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache

from nodusctl.base.durations import format_duration
from nodusctl.placement.allocate import Queued
from nodusctl.placement.funnel import Funnel
from nodusctl.placement.rank import shown_expectation
from nodusctl.plan.costs import CostLine
from nodusctl.planner.horizons import allocations_after_loss, session_span
from nodusctl.planner.market import Marketplace
from nodusctl.planner.needs import Need
from nodusctl.planner.seating import Seated
from nodusctl.planner.world import World
from nodusctl.pricing.estimate import Basis, EstimateFigures, FunctionRun, Horizon, WorkspaceRun, estimate_function, estimate_workspace
from nodusctl.pricing.estimate_status import estimate_status
from nodusctl.pricing.holds import Priced
from nodusctl.provider.contract import SelfStop

NEXT_WINDOW = "next window"
"""What the amounts of a Workspace with weekly windows cover; the later ones stand in its timetable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costed:
    """A line with the figures it was made from; None where the object met no offer.

    ``keeps_billing`` is True where a shutdown from inside the machine doesn't end the bill (rule R10).
    """

    seated: Seated
    line: CostLine
    figures: EstimateFigures | None
    priced: Priced | None
    stop_bound: timedelta = timedelta(0)
    keeps_billing: bool = False

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
    )
    figures = _figures(basis, one.need, world)
    line = _line(one, basis, figures, world, funnel)
    keeps_billing = market.descriptions[offer.provider].self_stop is SelfStop.KEEPS_BILLING
    if keeps_billing:
        line = replace(line, warnings=(*line.warnings, *_no_hard_edge(figures)))
    made = Costed(seated=one, line=line, figures=figures, priced=basis.priced, stop_bound=basis.stop_bound)
    return replace(made, keeps_billing=keeps_billing)


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
    span = session_span(need, world)
    session = WorkspaceRun(
        launch_at=span.launch_at,
        window_end=span.ends_at,
        remaining=need.remaining,
        lease_term=world.lease_term,
        recoveries=allocations_after_loss(need),
    )
    return _estimate_workspace(basis, session)


# Hundreds of alike Workspaces on one offer have one estimate; the exact fractions behind it are what a large plan spends its time on.
_estimate_workspace = lru_cache(maxsize=256)(estimate_workspace)


def _line(one: Seated, basis: Basis, figures: EstimateFigures, world: World, funnel: tuple[tuple[str, int], ...]) -> CostLine:
    priced, cost, most = basis.priced, figures.cost, figures.at_most
    ends_after = figures.runs_for if one.need.starts_now and _ends_within_lease(figures, world) else None
    is_weekly = figures.horizon is Horizon.WINDOW and session_span(one.need, world).is_weekly
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
        horizon=NEXT_WINDOW if is_weekly else figures.horizon.value,
        hold_usd=figures.concurrent_hold if one.need.address.kind == "function" else figures.hold,
        price_source=priced.source,
        price_origin=priced.origin.value,
        price_observed_at=priced.observed_at,
        price_age=priced.shown_age,
        valid_until=figures.valid_until,
        band_source=figures.startup_cold.shown_origin,
        cap_after=figures.runs_for if figures.cap_ends_it else None,
        stops_at=world.now + ends_after if ends_after is not None else None,
        lines=_extra_lines(one, figures, world),
        funnel=funnel,
        warnings=(*((w.code, w.message) for w in figures.warnings), *_queued(one)),
        estimate=estimate_status(figures, explain=one.found.explanation.of(basis.offer.key)),
    )


def _extra_lines(one: Seated, figures: EstimateFigures, world: World) -> tuple[str, ...]:
    if one.need.address.kind == "function":
        most_workers = (one.need.spec.get("scaling") or {}).get("maxWorkers", 10)
        capped = ("its cap ends its warm workers before 730 h; P50 and P90 are until the cap",) if figures.horizon is Horizon.CAP else ()
        return (figures.warm_capacity, *capped, f"at most {most_workers} workers at once")
    term = format_duration(world.lease_term)
    choice = one.choice
    expectation = shown_expectation(one.found.ranked, choice) if choice is not None else ""
    lease = () if _ends_within_lease(figures, world) else (f"each start ends itself after {term} unless a tick renews it",)
    return (*((expectation,) if expectation else ()), *lease)


def _ends_within_lease(figures: EstimateFigures, world: World) -> bool:
    """True where the window or the cap ends a start before its lease does."""
    return figures.runs_for is not None and figures.runs_for <= world.lease_term


def _queued(one: Seated) -> tuple[tuple[str, str], ...]:
    match one.seating:
        case Queued(free_from=None, why=why):
            return (("Queued", f"Capacity is {why} now: it waits in Pending."),)
        case Queued(free_from=moment, why=why) if moment is not None:
            return (("Queued", f"Ready about {moment:%H:%M} UTC: {why}."),)
    return ()


def _funnel(funnel: Funnel) -> tuple[tuple[str, int], ...]:
    return (("offers", funnel.total), *((step.constraint, step.remaining) for step in funnel.steps))


def _no_hard_edge(figures: EstimateFigures) -> tuple[tuple[str, str], ...]:
    """What a day without anybody looking costs."""
    if figures.rate is None:
        return ()
    day = figures.rate * 24
    return (("NoHardEdge", f"A machine that shuts itself down goes on billing there: {day.shown} for a day nobody looks."),)
