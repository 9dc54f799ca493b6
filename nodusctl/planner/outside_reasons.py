"""What stands outside and stops a plan, or belongs into it: another state's things, providers the project left, machines somebody changed.

Two states must never steer one machine, and a provider that is taken out of the project would leave what lives there without anybody to
end it. Hardware that somebody changed behind the record's back is a change like any other: the session is restarted on what was approved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.changes import ChangeClass, FieldChange
from nodusctl.plan.facts import facts_for
from nodusctl.plan.reasons import BlockingReason
from nodusctl.planner.classes import is_up
from nodusctl.planner.diff import plain
from nodusctl.planner.drafts import Draft
from nodusctl.planner.world import Foreign, Stranded, World

_NAMED = 5


def stranded_reasons(world: World) -> Iterator[BlockingReason]:
    """ProviderInUse: a provider was removed, or is another account now, while objects live there (rule R8)."""
    for one in world.outside.stranded:
        yield BlockingReason(code="ProviderInUse", address=None, message=_held(one), fix=_way_back(one))


def _held(one: Stranded) -> str:
    shown = [f"{address} ({thing})" for address, thing in one.things[:_NAMED]]
    more = f" and {len(one.things) - _NAMED} more" if len(one.things) > _NAMED else ""
    return f"{one.why}, and these still live there: {', '.join(shown)}{more}."


def _way_back(one: Stranded) -> str:
    first = one.things[0][0]
    return (
        f"Put its former settings back under providers: in nodusctl.yaml, then remove what lives there:\n  nodusctl delete {first}\n"
        f"Or leave it behind, billed and without a record:\n  nodusctl forget {first}"
    )


def foreign_reasons(drafts: Iterable[Draft], world: World) -> Iterator[BlockingReason]:
    """ForeignState: an object this plan changes bears the name of something another state holds (rule R15)."""
    by_address: dict[object, Foreign] = {}
    for one in world.outside.foreign:
        by_address.setdefault(one.address, one)
    for draft in drafts:
        found = by_address.get(draft.address) if draft.action is not None else None
        if found is not None:
            yield BlockingReason(
                code="ForeignState",
                address=draft.address,
                message=(
                    f"{found.thing} at {found.provider} is {draft.address} of this project in another state"
                    f" ({found.state_id}, owner {found.owner or 'unknown'})."
                ),
                fix="Work with that state (state: in nodusctl.yaml), or choose another name. If that state is lost, see what it left:\n"
                "  nodusctl orphans",
            )


def with_hardware_back(drafts: Iterable[Draft], world: World) -> tuple[Draft, ...]:
    """The drafts, with a restart for each running Workspace whose machine has other hardware than it was made with."""
    reshaped = world.outside.reshaped
    return tuple(restarted_for_hardware(one, world, changed) if (changed := reshaped.get(one.address)) else one for one in drafts)


def restarted_for_hardware(one: Draft, world: World, changed: Iterable[tuple[str, str, str]]) -> Draft:
    """The draft with the restart that other hardware asks for; as it is where no session is up. ``changed``: name, as made, now."""
    if one.standing is None or not is_up(one.standing):
        return one
    lines = tuple(
        FieldChange(path=f"machine.{what}", before=now, after=made, change_class=ChangeClass.REPLACES, note="changed at the provider")
        for what, made, now in changed
    )
    action = one.action or _unchanged(one, world)
    facts = facts_for(Verb.RESTART, one.standing.record.address, ChangeClass.REPLACES, world.snapshot)
    return replace(
        one,
        action=replace(action, verb=Verb.RESTART, changes=(*action.changes, *lines), change_class=ChangeClass.REPLACES, facts=facts),
    )


def _unchanged(one: Draft, world: World) -> Action:
    assert one.standing is not None
    record = one.standing.record
    return Action(
        verb=Verb.RESTART,
        address=one.address,
        spec=plain(record.spec),
        applied=plain(one.resource.written),
        labels=dict(record.labels),
        annotations=dict(record.annotations),
        source=one.resource.source,
        line=one.resource.span.line,
    )
