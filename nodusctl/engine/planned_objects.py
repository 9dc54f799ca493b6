"""The objects of a plan as the files meant them when it was made: from the plan alone, whatever the files say by now."""

from __future__ import annotations

from collections.abc import Iterator

from nodusctl.base.diagnostics import Span
from nodusctl.base.ids import Address
from nodusctl.engine.former_defaults import former_defaults
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.plan import Plan
from nodusctl.plan.reasons import BlockingReason
from nodusctl.resources.decode import read_spec
from nodusctl.resources.kinds import kind_named
from nodusctl.resources.resource import Resource
from nodusctl.state.snapshot import Snapshot


def written_after(plan: Plan, snapshot: Snapshot) -> Iterator[Address]:
    """Addresses whose documents the plan counted as written: all the state has, less what it removes or keeps, and its own."""
    gone = {action.address for action in plan.actions if action.verb in {Verb.DELETE, Verb.KEEP}}
    gone |= {action.moved_from for action in plan.actions if action.moved_from is not None}
    yield from (standing.record.address for standing in snapshot if standing.record.address not in gone)
    yield from (action.address for action in plan.actions if action.spec is not None)


def resource_of(action: Action) -> Resource | None:
    """The object as its file meant it when the plan was made; None for a removal, and where today's rules refuse what was written."""
    kind = kind_named(action.address.kind)
    if action.spec is None or action.applied is None or kind is None:
        return None
    model, _ = read_spec(kind, dict(action.applied))
    if model is None:
        return None
    return Resource(
        address=action.address,
        kind=kind.kind,
        name=action.address.name,
        labels=action.labels,
        annotations=action.annotations,
        written=action.applied,
        spec=former_defaults(kind.kind, action.applied),
        model=model,
        source=action.source,
        span=Span(action.source, action.line, 1),
    )


def unreadable(action: Action) -> BlockingReason:
    """Today's rules refuse what was written when the plan was made."""
    return BlockingReason(
        code="Invalid",
        address=action.address,
        message=f"This version of nodusctl doesn't take the spec that {action.address} was planned with.",
        fix=f"Check it, then plan again:\n  nodusctl validate {action.source}",
    )
