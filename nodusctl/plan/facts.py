"""The facts an Action relies on: taken when the plan is made, taken again when it is applied, and compared.

An Action lists only what its outcome depends on, so that an idle stop or a saved revision in between doesn't make a reviewed plan
stale. Phases are compared by class: Starting and Running are one, because a plan that found either is right for both.
"""

from __future__ import annotations

from typing import assert_never

from nodusctl.base.ids import Address
from nodusctl.plan.actions import Action, ActionFacts, Verb
from nodusctl.plan.changes import ChangeClass
from nodusctl.state.requests import standing_mark
from nodusctl.state.snapshot import Snapshot, Standing
from nodusctl.state.status import Phase

_PHASE_MATTERS = frozenset({ChangeClass.STARTS, ChangeClass.ENDS_SESSION, ChangeClass.RESTARTS, ChangeClass.REPLACES, ChangeClass.ROLLS})


def phase_class(phase: Phase) -> str:
    """``up`` while a machine runs or is on its way, ``down`` while none is, ``leaving`` for an object being removed, else ``quiet``."""
    match phase:
        case Phase.PENDING | Phase.STARTING | Phase.RUNNING | Phase.RECOVERING:
            return "up"
        case Phase.STOPPING | Phase.STOPPED | Phase.FAILED:
            return "down"
        case Phase.TERMINATING:
            return "leaving"
        case Phase.READY:
            return "quiet"
        case _:
            assert_never(phase)


def facts_for(verb: Verb, address: Address, change_class: ChangeClass, snapshot: Snapshot, *, volume: str = "") -> ActionFacts:
    """The facts an Action on ``address`` relies on, as ``snapshot`` has them.

    ``address`` is where the object is now (for a move: where it was). ``volume`` names the home of a Workspace that starts or is removed.
    """
    standing = snapshot.get(address)
    home = snapshot.get(Address("volume", volume)) if volume else None
    if standing is None:
        return ActionFacts(holder=_holder(home))
    is_removal = verb is Verb.DELETE
    is_of_revisions = verb in {Verb.RESTORE, Verb.PRUNE}
    needs_phase = is_removal or verb is Verb.RESTART or change_class in _PHASE_MATTERS
    return ActionFacts(
        uid=standing.record.uid,
        generation=standing.record.generation,
        phase=phase_class(standing.status.phase) if needs_phase and address.kind != "volume" else "",
        revision=_revision(standing) if is_removal or is_of_revisions else 0,
        holder=_holder(standing) if is_removal or verb is Verb.RESTORE else _holder(home),
        disk=_disk(standing) if verb is Verb.RESTORE else "",
    )


def moved_fact(action: Action, snapshot: Snapshot) -> str:
    """The first fact of ``action`` that no longer holds, in words; empty while all hold."""
    where = action.moved_from or action.address
    now = facts_for(action.verb, where, action.change_class, snapshot, volume=home_of(action))
    then = action.facts
    if now.uid != then.uid:
        return "it was removed since" if not now.uid else "another object of this name was made since"
    checks = (
        ("generation", then.generation, now.generation),
        ("phase", then.phase, now.phase),
        ("saved revision", then.revision, now.revision),
        ("holder", then.holder, now.holder),
        ("disk", then.disk, now.disk),
    )
    for name, before, after in checks:
        if before != after:
            return f"its {name} was {before or 'none'} and is now {after or 'none'}"
    return ""


def home_of(action: Action) -> str:
    """The home Volume an Action relies on: that of a Workspace being created or started; empty otherwise."""
    relies = action.verb is Verb.CREATE or action.change_class is ChangeClass.STARTS
    if action.address.kind != "workspace" or not relies or action.spec is None:
        return ""
    name = action.spec.get("volume")
    return name if isinstance(name, str) else ""


def _disk(standing: Standing) -> str:
    return standing_mark(standing.status.volume) if standing.status.volume is not None else ""


def _revision(standing: Standing) -> int:
    return standing.status.volume.revision if standing.status.volume is not None else 0


def _holder(standing: Standing | None) -> str:
    """``workspace/lab#3``: who holds a Volume's disk, with the epoch; empty for a free one."""
    volume = standing.status.volume if standing is not None else None
    if volume is None or volume.holder is None:
        return ""
    return f"{volume.holder.address}#{volume.holder.epoch}"
