"""Why a change is refused whatever it costs: fields that may not change, disks that are held, steps nobody has settled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.base.quantities import parse_quantity
from nodusctl.plan.changes import ChangeClass, FieldChange
from nodusctl.plan.reasons import BlockingReason
from nodusctl.planner.classes import is_up
from nodusctl.planner.drafts import Draft
from nodusctl.planner.world import World
from nodusctl.resources.mutability import Mutability, rule_for
from nodusctl.state.snapshot import Standing


def mutability_reasons(drafts: Iterable[Draft]) -> Iterator[BlockingReason]:
    """FieldImmutable for what never changes, Invalid for what may only rise and would fall; every field at once."""
    for one in drafts:
        if one.standing is None or one.action is None:
            continue
        for change in one.action.changes:
            if change.path.startswith("spec."):
                yield from _field_reason(one, one.standing, change)


def leaving_reasons(drafts: Iterable[Draft]) -> Iterator[BlockingReason]:
    """An object written again while its removal is still under way."""
    for one in drafts:
        if one.standing is not None and one.standing.record.deletion_requested_at is not None:
            yield BlockingReason(
                code="Conflict",
                address=one.address,
                message=f"{one.address} is being removed; the files have it again.",
                fix="Let the removal end, then plan again:\n  nodusctl apply",
            )


def volume_reasons(drafts: Iterable[Draft], world: World, moved: Mapping[Address, Address]) -> Iterator[BlockingReason]:
    """VolumeBusy where a disk is held by another object, or two running objects name one ReadWriteOnce Volume."""
    claimed: dict[str, Address] = dict(_claims_of_state(world))
    new_name = {old: new for new, old in moved.items()}
    for one in drafts:
        name = one.desired.get("volume")
        if one.address.kind != "workspace" or not isinstance(name, str) or one.desired.get("state") == "Stopped":
            continue
        former = one.standing.record.address if one.standing is not None else one.address
        first = claimed.setdefault(name, one.address)
        holder = _holder(world, moved.get(Address("volume", name), Address("volume", name)))
        by_state = holder if holder is not None and holder not in {former, one.address} else None
        by_plan = new_name.get(first, first)
        starts = one.action is not None and one.action.change_class is ChangeClass.STARTS
        if starts and (by_state is not None or by_plan not in {one.address, former}):
            yield _busy(one.address, name, by_state or by_plan, is_held=by_state is not None)


def intent_reasons(world: World) -> Iterator[BlockingReason]:
    """Open intents whose provider can't be asked now; the others are settled by apply before anything else."""
    told: set[Address] = set()
    for intent in world.intents:
        market = world.market(intent.provider)
        if world.is_offline or (market is not None and market.is_ready) or intent.address in told:
            continue
        told.add(intent.address)
        why = f"provider {intent.provider} gave no answer" if market is not None else f"the project has no provider {intent.provider}"
        yield BlockingReason(
            code="IntentUnsettled",
            address=intent.address,
            message=f"Nobody knows yet whether its step {intent.step.value} of {intent.opened_at:%Y-%m-%d %H:%M} UTC happened: {why}.",
            fix=f"When the provider answers again, apply settles it first. See what is wrong:\n  nodusctl doctor {intent.provider}",
        )


def _field_reason(one: Draft, standing: Standing, change: FieldChange) -> Iterator[BlockingReason]:
    steps = tuple(step.partition("[")[0] for step in change.path.split("."))
    match rule_for(one.resource.kind, steps):
        case Mutability.IMMUTABLE if not change.note:
            yield BlockingReason(
                code="FieldImmutable",
                address=one.address,
                message=f"{change.path} is {_shown(change.before)} and would become {_shown(change.after)}; it never changes.",
                fix=f"Write {_shown(change.before)} again, or give the object another name and remove {one.address}.",
                field=change.path,
            )
        case Mutability.RAISE_ONLY:
            yield from _raise_only(one, standing, change)
        case Mutability.GROW_ONLY if parse_quantity(change.after) < parse_quantity(change.before):
            yield BlockingReason(
                code="Invalid",
                address=one.address,
                message=f"{change.path} is {change.before} and would become {change.after}; it may only grow.",
                fix=f"Write {change.before} or more.",
                field=change.path,
            )


def _raise_only(one: Draft, standing: Standing, change: FieldChange) -> Iterator[BlockingReason]:
    if change.after is None:
        return
    after, least = Money.parse(change.after), standing.charged_usd + standing.held_usd
    before = Money.parse(change.before) if change.before is not None else None
    if before is not None and after < before:
        message = f"{change.path} is {before.shown} and would become {after.shown}; it may only be raised."
        fix = f'Write "{before}" or more, or remove the field.'
    elif before is None and after < least:
        message = f"{change.path} would be {after.shown}, and {least.shown} is charged or held already."
        fix = f'Write "{least}" or more.'
    else:
        return
    amounts = {"charged": str(standing.charged_usd), "held": str(standing.held_usd)}
    yield BlockingReason(code="Invalid", address=one.address, message=message, fix=fix, field=change.path, amounts=amounts)


def _claims_of_state(world: World) -> Iterator[tuple[str, Address]]:
    """Volumes that Workspaces outside this plan use now."""
    planned = {resource.address for resource in world.resources}
    for standing in world.snapshot:
        name = standing.record.spec.get("volume")
        if isinstance(name, str) and standing.record.address not in planned and is_up(standing):
            yield name, standing.record.address


def _holder(world: World, volume: Address) -> Address | None:
    standing = world.snapshot.get(volume)
    held = standing.status.volume if standing is not None else None
    return held.holder.address if held is not None and held.holder is not None else None


def _busy(address: Address, volume: str, by: Address, *, is_held: bool) -> BlockingReason:
    how = "holds it" if is_held else "uses it too"
    return BlockingReason(
        code="VolumeBusy",
        address=address,
        message=f"Volume {volume} is ReadWriteOnce, and {by} {how}.",
        fix=f"Give {address} a Volume of its own, or stop {by} first.",
        field="spec.volume",
    )


def _shown(value: Any) -> str:
    return "absent" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
