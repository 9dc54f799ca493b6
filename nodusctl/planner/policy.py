"""The project's own limits (``policy`` in nodusctl.yaml): what may be spent, where, on what, and for how long. Each is told by its rule.

Limits of deletion and of a price's age stand with the other reasons of their kind; these here end a plan with a code of their own. A limit
is held against what a plan changes: one that was lowered under what runs already stops nobody from making things cheaper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from nodusctl.base.ids import Address
from nodusctl.lifecycle.windows import has_openings
from nodusctl.placement.accelerators import matches
from nodusctl.plan.actions import Action
from nodusctl.plan.comparison import Comparison
from nodusctl.plan.reasons import POLICY_FAILED, BlockingReason
from nodusctl.planner.market import Marketplace
from nodusctl.planner.world import Policy, World
from nodusctl.provider.offers import Accelerator
from nodusctl.state.terms import Terms


def placement_policy(actions: Iterable[Action], market: Marketplace, world: World) -> Iterator[BlockingReason]:
    """Where a machine may stand, what it may be, whether it can be taken back, and whether something ends it by the clock."""
    policy = world.policy
    cards = {one.candidate.offer.key: one.candidate.offer.accelerator for one in market.candidates}
    for action in actions:
        if action.address.kind == "workspace" and action.spec is not None:
            yield from _regions(action, policy)
            yield from _gpu_types(action, policy, cards)
            yield from _interruptible(action, policy)
            yield from _windows(action, policy)


def cost_policy(compared: Comparison | None, policy: Policy) -> Iterator[BlockingReason]:
    """What a month of everything costs once the plan is carried out, and by how much the plan raises it, storage included."""
    limit, most_increase = policy.max_monthly_usd, policy.max_increase_usd
    if compared is None or (limit is None and most_increase is None):
        return
    then, increase = compared.after.monthly_usd, compared.after.monthly_usd - compared.now.monthly_usd
    least = "at least " if compared.after.lacks_month else ""
    amounts = {"monthly": str(then), "increase": str(increase)}
    if limit is not None and then > limit and increase.micro > 0:
        message = f"Everything running for 730 h would cost {least}{then.shown}; the limit is {limit.shown}."
        yield _failed("maxMonthlyUSD", message, _raise("maxMonthlyUSD"), amounts=amounts)
    if most_increase is not None and increase > most_increase:
        message = f"This plan adds {least}{increase.shown} to 730 h of everything running; the limit is {most_increase.shown}."
        yield _failed("maxIncreaseUSD", message, _raise("maxIncreaseUSD"), amounts=amounts)


def _regions(action: Action, policy: Policy) -> Iterator[BlockingReason]:
    allowed = frozenset(name.lower() for name in policy.allowed_regions or ())
    outside = [one for one in action.terms if not allowed & {one.region.lower(), one.region_class.lower(), one.zone.lower()}]
    if allowed and outside:
        places = ", ".join(dict.fromkeys(f"{one.zone} ({one.region_class})" for one in outside))
        message = f"It may be placed in {places}; policy.allowedRegions has {', '.join(policy.allowed_regions or ())}."
        fix = "Write spec.placement.regions so that only those are left, or have policy.allowedRegions extended."
        yield _failed("allowedRegions", message, fix, address=action.address)


def _gpu_types(action: Action, policy: Policy, cards: Mapping[str, Accelerator | None]) -> Iterator[BlockingReason]:
    allowed = policy.allowed_gpu_types
    if allowed is None:
        return
    other = [
        card for one in action.terms if (card := cards.get(one.offer_key)) is not None and not any(matches(name, card) for name in allowed)
    ]
    if other:
        names = ", ".join(dict.fromkeys(card.id for card in other))
        message = f"It may get the GPU {names}; policy.allowedGPUTypes has {', '.join(allowed) or 'none'}."
        fix = "Write spec.resources.gpu.type so that only those are left, or have policy.allowedGPUTypes extended."
        yield _failed("allowedGPUTypes", message, fix, address=action.address)


def _interruptible(action: Action, policy: Policy) -> Iterator[BlockingReason]:
    """The offer that is tried first counts: what it may fall back to is printed and reviewed. Own hardware is taken back by its owner."""
    first: Terms | None = action.terms[0] if action.terms else None
    if policy.interruptible_required and first is not None and not (first.is_interruptible or first.is_own_hardware):
        message = f"It would be placed on {first.offer_key}, which can't be taken back; policy.interruptibleRequired is true."
        fix = "Write spec.placement.interruptible: Prefer, or have policy.interruptibleRequired removed."
        yield _failed("interruptibleRequired", message, fix, address=action.address)


def _windows(action: Action, policy: Policy) -> Iterator[BlockingReason]:
    if policy.windows_required and not has_openings(action.spec or {}, action.annotations):
        message = "It has neither a schedule nor windows, so nothing ends it by the clock; policy.windowsRequired is true."
        fix = "Write spec.schedule or the annotation nodus.dev/windows, or have policy.windowsRequired removed."
        yield _failed("windowsRequired", message, fix, address=action.address)


def _raise(rule: str) -> str:
    return f"Plan less, or raise policy.{rule} in nodusctl.yaml."


def _failed(
    rule: str, message: str, fix: str, *, address: Address | None = None, amounts: Mapping[str, str] | None = None
) -> BlockingReason:
    return BlockingReason(code=POLICY_FAILED, address=address, message=message, fix=fix, field=f"policy.{rule}", amounts=amounts or {})
