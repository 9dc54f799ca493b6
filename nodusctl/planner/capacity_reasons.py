"""Why an object can't have a machine: nothing fits, nothing is priced, everything is held, or its provider didn't answer.

The first true reason is told, in an order from "you asked for what doesn't exist" to "others have it now".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nodusctl.base.ids import Address
from nodusctl.placement.allocate import DeviceBusy, NotViable
from nodusctl.plan.reasons import BlockingReason
from nodusctl.planner.market import Found, Marketplace
from nodusctl.planner.needs import Need, Urgency
from nodusctl.planner.seating import Seated
from nodusctl.planner.world import Market, World

_ABILITIES = {"tools": "spec.tools", "egress": "spec.network.egress.policy"}


def capacity_reasons(seated: Sequence[Seated], market: Marketplace, world: World) -> Iterator[BlockingReason]:
    """At most one reason an object; none in an offline plan, which asked nobody."""
    for one in seated:
        if one.need.address.kind == "function":
            yield _not_built(one.need.address)
        elif one.need.urgency is Urgency.REQUIRED and not world.is_offline:
            reason = _reason(one, market, world)
            if reason is not None:
                yield reason


def provider_reasons(world: World, seated: Sequence[Seated]) -> Iterator[BlockingReason]:
    """Objects whose machine, disk or approved offers are at a provider that didn't answer; told once an object."""
    told = {one.need.address for one in seated if one.need.urgency is Urgency.REQUIRED}
    silent = {market.instance: market for market in world.markets if not market.is_ready}
    for standing in world.snapshot:
        record = standing.record
        if record.address in told or record.address.kind not in {"workspace", "volume"}:
            continue
        disk = standing.status.volume.provider if standing.status.volume is not None else ""
        approved = [terms.provider for terms in record.approval.terms] if record.approval is not None else []
        found = next((silent[name] for name in (disk, *approved[:1]) if name in silent), None)
        if found is not None:
            yield not_ready(record.address, found)


def not_ready(address: Address, market: Market) -> BlockingReason:
    """The provider an object depends on gave no answer."""
    return BlockingReason(
        code="ProviderNotReady",
        address=address,
        message=f"Provider {market.instance} gave no answer: {market.why_not.rstrip('.')}.",
        fix=f"See what is wrong with it, then plan again:\n  nodusctl doctor {market.instance}",
    )


def _reason(one: Seated, market: Marketplace, world: World) -> BlockingReason | None:
    need, found = one.need, one.found
    if found.ranked:
        return _held(one) or _unequipped(one, world)
    if found.unpriced:
        return _price_unknown(need, found, market)
    silent = _silent_market(need, world)
    if silent is not None:
        return not_ready(need.address, silent)
    if need.needs_own_image and not market.takes_own_images():
        return _image_unsupported(need)
    ability = found.matching.funnel.last_constraint
    return _ability_unsupported(need, found, ability, market) if ability in _ABILITIES else _nothing_fits(need, found)


def _silent_market(need: Need, world: World) -> Market | None:
    """A provider that might have served this need, had it answered."""
    wanted = need.request.providers
    return next((market for market in world.markets if not market.is_ready and (not wanted or market.instance in wanted)), None)


def _held(one: Seated) -> BlockingReason | None:
    match one.seating:
        case DeviceBusy() as busy:
            return BlockingReason(
                code="DeviceBusy",
                address=one.need.address,
                message=f"Every fitting device of {busy.choice.key} is held: {busy.message}.",
                fix=_with_commands("Stop a holder, or ask for another device", (one.fix for one in busy.held)),
            )
        case NotViable() as stuck:
            doctor = f"nodusctl doctor {stuck.choice.candidate.offer.provider}"
            return BlockingReason(
                code="DeviceGroupNotViable",
                address=one.need.address,
                message=f"No device group of {stuck.choice.key} can be used: {'; '.join(stuck.reasons)}.",
                fix=_with_commands("Free every device of a group", stuck.fixes) + f"\nSee what each group needs:\n  {doctor}"
                if stuck.fixes
                else f"See what each group needs:\n  {doctor}",
            )
    return None


def _with_commands(advice: str, commands: Iterable[str]) -> str:
    """The advice, with the provider's commands each on a line of its own where it gave any."""
    lines = dict.fromkeys(line for command in commands for line in command.splitlines() if line)
    return f"{advice}:\n" + "\n".join(f"  {line}" for line in lines) if lines else f"{advice}."


def _unequipped(one: Seated, world: World) -> BlockingReason | None:
    """Every provider that has a fitting offer misses something to start a machine with; told before anybody is asked to agree."""
    lacking = {market.instance: market.lacks for market in world.markets if market.lacks}
    names = dict.fromkeys(ranked.candidate.offer.provider for ranked in one.found.ranked)
    if not one.need.starts_now or not all(name in lacking for name in names):
        return None
    name = next(iter(names))
    found = "; ".join(finding.summary.rstrip(".") for finding in lacking[name])
    fixes = "\n".join(dict.fromkeys(finding.fix for finding in lacking[name] if finding.fix))
    return BlockingReason(
        code="ProviderNotReady",
        address=one.need.address,
        message=f"Provider {name} can't start a machine: {found}.",
        fix=fixes or f"See what is wrong with it, then plan again:\n  nodusctl doctor {name}",
    )


def _price_unknown(need: Need, found: Found, market: Marketplace) -> BlockingReason:
    offer = found.unpriced[0].candidate.offer
    near = [(one.candidate.offer.id, one.priced.rate) for one in market.nearest(offer)]
    shown = ", ".join(f"{name} at {rate.shown}/h" for name, rate in near if rate is not None)
    fix = f"Nearest offers with a price: {shown}." if shown else "No offer like it has a price."
    return BlockingReason(
        code="PriceUnknown",
        address=need.address,
        message=f"{offer.id} fits, and neither its provider nor the price book has a price for it.",
        fix=f"{fix} Or add a row for {offer.id} to a price file of the project.",
        field="spec.placement",
        amounts={f"nearest {name}": str(rate) for name, rate in near if rate is not None},
    )


def _nothing_fits(need: Need, found: Found) -> BlockingReason:
    funnel = found.matching.funnel
    message = f"No offer fits: {funnel.shown}." if funnel.total else "No provider of the project has an offer."
    fix = f"The smallest change that helps: {funnel.hint}." if funnel.hint else "See what is on offer:\n  nodusctl offers"
    return BlockingReason(
        code="CapacityUnavailable", address=need.address, message=message, fix=fix, field=_field_of(need, funnel.last_constraint)
    )


def _field_of(need: Need, constraint: str) -> str:
    if constraint in {"family", "count", "memory", "interconnect"}:
        return "spec.resources.gpu"
    if constraint in {"cpu", "host memory", "disk"}:
        return "spec.resources"
    return "spec.volume" if constraint == "location" and need.spec.get("volume") else "spec.placement"


def _ability_unsupported(need: Need, found: Found, ability: str, market: Marketplace) -> BlockingReason:
    if ability == "tools":
        what = f"serves the tools {', '.join(need.written_tools)}"
        fix = f"{found.matching.funnel.hint}." if found.matching.funnel.hint else "Leave spec.tools out."
        known = (description.tool_fixes.get(tool) for description in market.descriptions.values() for tool in need.written_tools)
        fix = next((f"{one}\nOr: {fix}" for one in known if one), fix)
    else:
        what = f"can enforce the egress policy {need.request.egress_policy}"
        fix = f"{found.matching.funnel.hint}." if found.matching.funnel.hint else "Leave spec.network out."
    return BlockingReason(
        code="Unsupported",
        address=need.address,
        message=f"No fitting offer's provider {what}: {found.matching.funnel.shown}.",
        fix=fix,
        field=_ABILITIES[ability],
    )


def _image_unsupported(need: Need) -> BlockingReason:
    return BlockingReason(
        code="Unsupported",
        address=need.address,
        message=f"No provider of the project runs an image of one's own ({need.spec.get('image')}).",
        fix="Leave spec.image out, or name a catalog image (nodus/…).",
        field="spec.image",
    )


def _not_built(address: Address) -> BlockingReason:
    return BlockingReason(
        code="Unsupported",
        address=address,
        message="This version checks, compares and prices Functions; it doesn't run their workers.",
        fix=f"Leave {address} out; everything else of the plan is applied without it.",
    )
