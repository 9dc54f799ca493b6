"""Renames: ``nodus.dev/moved-from`` turns a removal and a creation into a move, and a hint says so where it is missing.

A move keeps the uid, and with it the machine, the money and the home. An annotation that was already obeyed is inert, so it may stay in the
file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nodusctl.base.canonical import digest
from nodusctl.base.ids import Address
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.reasons import BlockingReason
from nodusctl.planner.diff import plain
from nodusctl.resources.resource import Resource
from nodusctl.state.snapshot import Snapshot


def moves_of(
    resources: Iterable[Resource], written: frozenset[Address], snapshot: Snapshot
) -> tuple[dict[Address, Address], tuple[BlockingReason, ...]]:
    """New address → old one, for each move that is due; and a reason for each that can't be."""
    moves: dict[Address, Address] = {}
    reasons: list[BlockingReason] = []
    for resource in resources:
        old = _source_of(resource)
        if old is None or snapshot.get(resource.address) is not None or snapshot.get(old) is None:
            continue
        taken_by = next((new for new, taken in moves.items() if taken == old), None)
        if old in written:
            reasons.append(_still_written(resource, old))
        elif taken_by is not None:
            reasons.append(_claimed_twice(resource, old, taken_by))
        else:
            moves[resource.address] = old
    return moves, tuple(reasons)


def move_hints(actions: Iterable[Action], snapshot: Snapshot) -> tuple[str, ...]:
    """For each object that is removed while one of the same kind and spec is made: the line that would make it a move."""
    all_actions = tuple(actions)
    made: dict[tuple[str, str], list[Action]] = {}
    for action in all_actions:
        if action.verb is Verb.CREATE:
            made.setdefault(_likeness(action.address, action.spec), []).append(action)
    hints = []
    for action in all_actions:
        standing = snapshot.get(action.address)
        if action.verb not in {Verb.DELETE, Verb.KEEP} or standing is None:
            continue
        twins = made.get(_likeness(action.address, standing.record.spec))
        if twins:
            hints.append(_hint(twins.pop(0).address, action.address))
    return tuple(hints)


def _likeness(address: Address, spec: object) -> tuple[str, str]:
    return address.kind, digest(plain(spec))


def renamed_volumes(moves: Mapping[Address, Address]) -> dict[str, str]:
    """Old name → new name of each Volume that moves, so that a Workspace may follow it."""
    return {old.name: new.name for new, old in moves.items() if new.kind == "volume"}


def _source_of(resource: Resource) -> Address | None:
    text = resource.annotation("moved-from")
    if not text:
        return None
    kind, slash, name = text.rpartition("/")
    if slash and kind.lower() != resource.address.kind:
        return None
    return Address(resource.address.kind, name)


def _hint(new: Address, old: Address) -> str:
    return (
        f"{new} has the spec of {old}, which is removed. If it was renamed, keep machine and history by adding to {new}:\n"
        f"  metadata: {{annotations: {{nodus.dev/moved-from: {old.name}}}}}"
    )


def _still_written(resource: Resource, old: Address) -> BlockingReason:
    return BlockingReason(
        code="Invalid",
        address=resource.address,
        message=f"{resource.address} says it moved from {old}, and {old} is still in the files.",
        fix=f"Remove {old} from the files, or the annotation nodus.dev/moved-from from {resource.address}.",
        field="metadata.annotations[nodus.dev/moved-from]",
    )


def _claimed_twice(resource: Resource, old: Address, taken_by: Address) -> BlockingReason:
    return BlockingReason(
        code="Invalid",
        address=resource.address,
        message=f"{resource.address} and {taken_by} both say they moved from {old}.",
        fix="Keep the annotation nodus.dev/moved-from on one of them.",
        field="metadata.annotations[nodus.dev/moved-from]",
    )
