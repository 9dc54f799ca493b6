"""The estimate of one object before anything is made: every Estimate field of the seeds, and "at most".

Where a figure rests on an unknown price it is None, and "at most" says "at least". Teardown priors are half the provider's stop bound
(p50) and the whole of it (p90).

The surprise: an uncapped Workspace without a window has no horizon, so its cost is shown as 730 hours of a month and its "at most" is
"no limit"; only a rate of zero has an end without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from nodusctl.base.durations import format_duration
from nodusctl.base.money import ZERO, Money
from nodusctl.pricing.bands import DurationBand, MoneyBand
from nodusctl.pricing.caps import LONGEST, BillingTerms, first_hold, stop_point
from nodusctl.pricing.charge import at_rate, elapsed_seconds
from nodusctl.pricing.figures import NO_LIMIT, UNKNOWN, Figure, StorageLine, monthly, warm_capacity_line
from nodusctl.pricing.holds import Origin, Priced, shown_age
from nodusctl.pricing.sessions import session_cost, session_most
from nodusctl.provider.offers import Offer
from nodusctl.state.terms import ceiling

VALID_WITHOUT_AGE = timedelta(hours=24)


class Horizon(StrEnum):
    """What the cost of an estimate covers."""

    WINDOW = "window"
    CAP = "until the cap"
    MONTH = "730 h a month"
    WARM = "warm workers, 730 h"


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """The offer an estimate is for, and what is known about it. ``startup`` is launch call to tools answering, cold."""

    offer: Offer
    priced: Priced
    startup: DurationBand
    stop_bound: timedelta
    book_version: str
    now: datetime

    @property
    def binding_rate(self) -> Money | None:
        """What holds and stop points use: the rate, or the ceiling of an interruptible offer."""
        if self.priced.rate is None or not self.offer.is_interruptible:
            return self.priced.rate
        return ceiling(self.priced.rate)

    def terms(self, rate: Money) -> BillingTerms:
        """This offer's rounding and stop bound at ``rate``."""
        return BillingTerms(
            rate_usd_per_hour=rate,
            increment_seconds=self.offer.increment_seconds,
            minimum_seconds=self.offer.minimum_seconds,
            stop_bound=self.stop_bound,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceRun:
    """When a Workspace would run. ``remaining`` is its cap less charges and other open holds, None without a cap.

    ``recoveries`` is how often a lost machine may be replaced within one session; each is an allocation of its own.
    """

    launch_at: datetime
    window_end: datetime | None = None
    remaining: Money | None = None
    lease_term: timedelta = timedelta(hours=8)
    recoveries: int = 0
    storage: StorageLine | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionRun:
    """How many workers a Function keeps and may have. ``nodes`` is its cluster's size, 1 without one."""

    min_workers: int = 0
    max_workers: int = 10
    nodes: int = 1
    remaining: Money | None = None
    lease_term: timedelta = timedelta(hours=8)


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateWarning:
    """A note that blocks nothing; ``code`` is CamelCase."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPreview:
    """The capacity a create would use."""

    offering: str
    region_class: str
    is_interruptible: bool
    is_warm_reuse: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateFigures:
    """Every Estimate field of the seeds in our own types (None: unknown, or not of this kind), and what a plan prints beside them.

    ``runs_for`` is launch to the end of the session, at the rate; ``cap_ends_it`` where its cap is what ends it.
    """

    cost: MoneyBand | None
    overhead: MoneyBand | None
    hold: Money | None
    concurrent_hold: Money | None
    gang_hold: Money | None
    assembly_bound: Money | None
    minimum_charge: Money | None
    rate: Money | None
    startup_cold: DurationBand
    startup_warm: DurationBand | None
    placement_preview: PlacementPreview
    pricebook_version: str
    valid_until: datetime
    warnings: tuple[EstimateWarning, ...]
    at_most: Figure
    horizon: Horizon
    monthly_rate: Money | None
    priced: Priced
    ceiling_rate: Money | None
    runs_for: timedelta | None = None
    cap_ends_it: bool = False
    storage: StorageLine | None = None
    warm_capacity: str = ""


def estimate_workspace(basis: Basis, run: WorkspaceRun) -> EstimateFigures:
    """What one session of a Workspace costs; its horizon is the window, else the time until its cap, else a month."""
    rate = basis.binding_rate
    if basis.priced.rate is None or rate is None:
        return _figures(basis, Horizon.MONTH, at_most=UNKNOWN, storage=run.storage)
    horizon, runs_for, cap_ends_it = _horizon(basis.terms(rate), run)
    until_window_end = max(run.window_end - run.launch_at, timedelta(0)) if run.window_end is not None else run.lease_term
    hold = first_hold(basis.terms(rate), min(until_window_end, run.lease_term), run.remaining)
    return _figures(
        basis,
        horizon,
        at_most=_most(basis, run),
        cost=_session_cost(basis, basis.priced.rate, runs_for, run.remaining),
        hold=hold,
        concurrent_hold=hold,
        runs_for=runs_for,
        cap_ends_it=cap_ends_it,
        storage=run.storage,
    )


def estimate_function(basis: Basis, run: FunctionRun) -> EstimateFigures:
    """What a Function's warm workers cost a month, until its cap where that is less; and its holds when every worker starts at once."""
    rate = basis.binding_rate
    machines = run.min_workers * run.nodes
    warm = warm_capacity_line(machines, basis.priced.rate)
    if basis.priced.rate is None or rate is None:
        return _figures(basis, Horizon.WARM, at_most=UNKNOWN, warm_capacity=warm)
    hold = first_hold(basis.terms(rate), run.lease_term, run.remaining)
    amount = monthly(basis.priced.rate, machines)
    is_capped = run.remaining is not None and run.remaining < amount
    if is_capped and run.remaining is not None:
        amount = run.remaining
    return _figures(
        basis,
        Horizon.CAP if is_capped else Horizon.WARM,
        at_most=_limited(rate, run.remaining),
        cost=MoneyBand(p50=amount, p90=amount),
        hold=hold,
        concurrent_hold=hold * (run.max_workers * run.nodes),
        gang_hold=hold * run.nodes if run.nodes > 1 else None,
        warm_capacity=warm,
    )


def _horizon(terms: BillingTerms, run: WorkspaceRun) -> tuple[Horizon, timedelta | None, bool]:
    """What a session's cost covers, how long after launch it ends (None where nothing ends it), and whether its cap does."""
    by_window = max(run.window_end - run.launch_at, timedelta(0)) if run.window_end is not None else None
    by_cap = stop_point(terms, run.remaining) if run.remaining is not None else LONGEST
    by_cap = timedelta(0) if by_cap is None else by_cap
    if by_window is not None:
        return Horizon.WINDOW, min(by_window, by_cap), by_cap < by_window
    return (Horizon.MONTH, None, False) if by_cap == LONGEST else (Horizon.CAP, by_cap, True)


def _session_cost(basis: Basis, rate: Money, runs_for: timedelta | None, remaining: Money | None) -> MoneyBand:
    if runs_for is None:
        return MoneyBand(p50=monthly(rate), p90=monthly(rate))
    return session_cost(basis.terms(rate), runs_for, remaining)


def _most(basis: Basis, run: WorkspaceRun) -> Figure:
    """At the ceiling: the whole window, and what each allocation of it may add."""
    rate = basis.priced.rate or ZERO
    if run.window_end is None:
        return _limited(rate, run.remaining)
    span = run.window_end - run.launch_at
    return Figure(amount=session_most(basis.terms(ceiling(rate)), span, allocations=1 + run.recoveries, remaining=run.remaining))


def _limited(rate: Money, remaining: Money | None) -> Figure:
    if not rate:
        return Figure()
    return NO_LIMIT if remaining is None else Figure(amount=remaining)


def _figures(
    basis: Basis,
    horizon: Horizon,
    *,
    at_most: Figure,
    cost: MoneyBand | None = None,
    hold: Money | None = None,
    concurrent_hold: Money | None = None,
    gang_hold: Money | None = None,
    runs_for: timedelta | None = None,
    cap_ends_it: bool = False,
    storage: StorageLine | None = None,
    warm_capacity: str = "",
) -> EstimateFigures:
    rate, offer = basis.priced.rate, basis.offer
    return EstimateFigures(
        cost=cost,
        overhead=_overhead(basis, rate) if rate is not None else None,
        hold=hold,
        concurrent_hold=concurrent_hold,
        gang_hold=gang_hold,
        assembly_bound=None,
        minimum_charge=basis.terms(rate).minimum_charge if rate is not None else None,
        rate=rate,
        startup_cold=basis.startup,
        startup_warm=None,
        placement_preview=PlacementPreview(
            offering=offer.id,
            region_class=offer.region_class,
            is_interruptible=offer.is_interruptible,
            is_warm_reuse=False,
        ),
        pricebook_version=basis.book_version,
        valid_until=basis.priced.valid_until or basis.now + VALID_WITHOUT_AGE,
        warnings=_warnings(basis),
        at_most=at_most,
        horizon=horizon,
        monthly_rate=monthly(rate) if rate is not None else None,
        priced=basis.priced,
        ceiling_rate=ceiling(rate) if rate is not None else None,
        runs_for=runs_for,
        cap_ends_it=cap_ends_it,
        storage=storage,
        warm_capacity=warm_capacity,
    )


def _overhead(basis: Basis, rate: Money) -> MoneyBand:
    """Start and teardown at the rate, without rounding: time that is paid for and not worked in."""
    return MoneyBand(
        p50=at_rate(elapsed_seconds(basis.startup.p50 + basis.stop_bound / 2), rate),
        p90=at_rate(elapsed_seconds(basis.startup.p90 + basis.stop_bound), rate),
    )


def _warnings(basis: Basis) -> tuple[EstimateWarning, ...]:
    band, priced = basis.startup, basis.priced
    p50, p90 = format_duration(band.p50), format_duration(band.p90)
    found = [EstimateWarning(code="ColdStart", message=f"No warm capacity: ready in about {p50}, p90 {p90} ({band.shown_origin}).")]
    if basis.offer.is_interruptible:
        found.append(
            EstimateWarning(
                code="InterruptibleSelected",
                message="This capacity can be reclaimed at any time; holds and limits use its ceiling.",
            )
        )
    if priced.origin is Origin.FREE:
        found.append(
            EstimateWarning(code="FreeCapacity", message="Own hardware without rateUSDPerHour: its time counts as $0.00."),
        )
    if priced.is_old and priced.age is not None and priced.ttl is not None:
        found.append(
            EstimateWarning(
                code="PriceOld",
                message=f"The price is {shown_age(priced.age)} old ({priced.source}); it counts as current for {shown_age(priced.ttl)}.",
            )
        )
    return tuple(found)
