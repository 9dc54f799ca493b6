"""Why money stops a plan: caps that end before they begin, Budgets that don't hold it, prices past their age; for limits see ``policy``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodusctl.base.durations import format_duration
from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money, total
from nodusctl.plan.reasons import BlockingReason
from nodusctl.planner.budgets import BudgetStanding
from nodusctl.planner.costs import Costed
from nodusctl.planner.needs import Urgency
from nodusctl.planner.world import World
from nodusctl.pricing.caps import BillingTerms, cap_too_small
from nodusctl.pricing.holds import shown_age


def cap_reasons(costs: Sequence[Costed]) -> Iterator[BlockingReason]:
    """CapTooSmall where the cap would stop the machine before it has booted and run a minute."""
    for one in costs:
        need, figures, choice = one.seated.need, one.figures, one.seated.choice
        remaining, rate = need.remaining, figures.rate if figures is not None else None
        if need.urgency is not Urgency.REQUIRED or need.address.kind != "workspace" or not (remaining is not None and rate and choice):
            continue
        offer = choice.candidate.offer
        terms = BillingTerms(
            rate_usd_per_hour=rate,
            increment_seconds=offer.increment_seconds,
            minimum_seconds=offer.minimum_seconds,
            stop_bound=one.stop_bound,
        )
        small = cap_too_small(terms, remaining, choice.candidate.startup_p90)
        if small is not None:
            yield _cap_too_small(need.address, remaining, small.smallest, rate)


def budget_reasons(costs: Sequence[Costed], budgets: Sequence[BudgetStanding], world: World) -> Iterator[BlockingReason]:
    """BudgetExceeded where the holds of all starts of this plan don't fit what a Budget has left."""
    starting = [
        one for one in costs if one.seated.need.starts_now and one.line.hold_usd is not None and one.seated.need.address.kind == "workspace"
    ]
    for budget in budgets:
        covered = [one for one in starting if budget.covers(world.basis.project, one.labels)]
        needed = total(map(_more_to_hold, covered))
        if needed > budget.remaining:
            yield _budget_exceeded(budget, needed, covered)


def credit_reasons(costs: Sequence[Costed], world: World) -> Iterator[BlockingReason]:
    """InsufficientCredits where money was granted and the holds of all starts of this plan are more than what is left of it."""
    starting = [one for one in costs if one.seated.need.starts_now and one.line.hold_usd is not None]
    needed, left = total(map(_more_to_hold, starting)), max(world.tally.available, ZERO)
    if not world.tally.has_grant or needed <= left:
        return
    names = ", ".join(str(one.line.address) for one in starting)
    yield BlockingReason(
        code="InsufficientCredits",
        address=None,
        message=f"{left.shown} of what was granted is left; the holds of {names} need {needed.shown}.",
        fix=f"Start less at once, or grant more:\n  nodusctl credits grant {needed - left}",
        amounts={"needed": str(needed), "remaining": str(left)},
    )


def age_reasons(costs: Sequence[Costed], world: World) -> Iterator[BlockingReason]:
    """PriceStale where ``policy.maxPriceAge`` is set and a price is older."""
    limit = world.policy.max_price_age
    for one in costs:
        age = one.priced.age if one.priced is not None else None
        if limit is not None and age is not None and age > limit and one.seated.need.urgency is Urgency.REQUIRED:
            yield BlockingReason(
                code="PriceStale",
                address=one.line.address,
                message=f"The price of {one.line.offering} is {shown_age(age)} old; policy.maxPriceAge is {format_duration(limit)}.",
                fix="Refresh the price, or raise policy.maxPriceAge in nodusctl.yaml.",
            )


def edge_reasons(costs: Sequence[Costed], budgets: Sequence[BudgetStanding], world: World) -> Iterator[BlockingReason]:
    """NoHardEdge blocks where a cap or a Block Budget promises an edge that such a machine can't keep (rule R10).

    It doesn't where somebody always there ends such machines at once, or where the person takes the risk.
    """
    if world.ticker_is_near or world.allow.accepts_no_edge:
        return
    for one in costs:
        need = one.seated.need
        is_limited = need.remaining is not None or any(budget.covers(world.basis.project, one.labels) for budget in budgets)
        if need.urgency is Urgency.REQUIRED and is_limited and one.figures is not None and one.keeps_billing:
            yield _no_hard_edge(one)


def _more_to_hold(one: Costed) -> Money:
    """The first hold of a start; of a restart what it is above the present hold, which is given back before."""
    standing = one.seated.need.draft.standing
    present = standing.held_usd if standing is not None else ZERO
    return max((one.line.hold_usd or ZERO) - present, ZERO)


def _cap_too_small(address: Address, remaining: Money, smallest: Money, rate: Money) -> BlockingReason:
    return BlockingReason(
        code="CapTooSmall",
        address=address,
        message=f"{remaining.shown} is left under its cap; booting, a minute of use and the stop cost {smallest.shown} at {rate.shown}/h.",
        fix=f"Raise spec.maxCostUSD so that at least {smallest.shown} is left, or choose a cheaper machine.",
        field="spec.maxCostUSD",
        amounts={"remaining": str(remaining), "needed": str(smallest)},
    )


def _budget_exceeded(budget: BudgetStanding, needed: Money, covered: Sequence[Costed]) -> BlockingReason:
    names = ", ".join(str(one.line.address) for one in covered)
    return BlockingReason(
        code="BudgetExceeded",
        address=None,
        message=f"{budget.address} has {budget.remaining.shown} of {budget.limit.shown} left; the holds of {names} need {needed.shown}.",
        fix=f"Start less at once, set spec.maxCostUSD on them, or raise spec.limitUSD of {budget.address}.",
        amounts={"needed": str(needed), "remaining": str(budget.remaining), "limit": str(budget.limit)},
    )


def _no_hard_edge(one: Costed) -> BlockingReason:
    rate = one.figures.rate if one.figures is not None else None
    day = f" A day nobody looks costs {(rate * 24).shown}." if rate is not None else ""
    return BlockingReason(
        code="NoHardEdge",
        address=one.seated.need.address,
        message=f"{one.line.offer_key} goes on billing after the machine shuts itself down: its cap or Budget has no hard edge.{day}",
        fix=(
            "Place it where a shutdown ends the bill; or run nodusctl tick at least every 10 minutes on a host that is always on, with\n"
            "alwaysOn: true in nodusctl.yaml; or take the risk:\n  nodusctl apply --accept-no-edge"
        ),
        amounts={"day": str(rate * 24)} if rate is not None else {},
    )
