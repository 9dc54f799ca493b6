"""What was merged to the base branch since this branch left it, and what of a plan would undo that.

A branch that hasn't seen a merge lacks its objects and has the old form of what it changed. To such a branch the state looks wrong, though
the state is what base says. So an Action that follows only from the branch being behind is taken out and told as BaseMoved. The surprise:
an Action on an object that base changed is nothing to worry about while that change was never applied: then the state is still the one the
branch began from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.reasons import BlockingReason
from nodusctl.planner.diff import plain
from nodusctl.state.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseWork:
    """One object that base changed since the branch left it, and that the branch doesn't have in base's form.

    ``commit`` (abbreviated) brought the change, ``subject`` is its first line, ``file`` where it stands. ``former`` is the spec as it was
    written where the branch left base; None for an object that base added. ``is_contested`` means that the branch changed it as well.
    """

    address: Address
    commit: str
    subject: str
    file: str
    is_removal: bool = False
    is_contested: bool = False
    former: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFacts:
    """The base branch as it is now: ``ref`` as it was named, its ``commit``, and what of its work the branch lacks."""

    ref: str
    commit: str
    work: Mapping[Address, BaseWork]


def undone_by(actions: Iterable[Action], base: BaseFacts | None, snapshot: Snapshot) -> Mapping[Address, BaseWork]:
    """The work of base that these Actions would undo, by the address of the Action."""
    found: dict[Address, BaseWork] = {}
    for action in actions if base is not None else ():
        work = base.work.get(action.address) if base is not None else None
        if work is not None and _state_has_left(work, snapshot):
            found[action.address] = work
    return found


def base_moved_reasons(undone: Mapping[Address, BaseWork], base: BaseFacts | None, *, is_accepted: bool) -> Iterator[BlockingReason]:
    """One reason for each piece of work that would be undone; none where the person accepts it."""
    for address, work in sorted(undone.items()):
        if base is not None and not is_accepted:
            yield BlockingReason(
                code="BaseMoved",
                address=address,
                message=f"This branch would revert work merged in {work.commit} ({work.subject}): {_what(work)}.",
                fix=f"Rebase the branch on {base.ref}, then plan again:\n  git rebase {base.ref}\n"
                f"Where it is meant to be undone:\n  nodusctl plan --base {base.ref} --accept-base-moved",
            )


def base_moved_hints(undone: Mapping[Address, BaseWork], *, is_accepted: bool) -> Iterator[str]:
    """What an accepted plan undoes."""
    for address, work in sorted(undone.items()) if is_accepted else ():
        yield f"{address}: reverts work merged in {work.commit} ({work.subject}); {_what(work)}."


def unasked_removals(actions: Iterable[Action], *, needs_word: bool) -> Iterator[BlockingReason]:
    """In CI, where nobody compared with base: an object that is only missing from the files may be one that was merged meanwhile."""
    going = [str(action.address) for action in actions if action.verb is Verb.DELETE] if needs_word else []
    if going:
        yield BlockingReason(
            code="TooManyDeletes",
            address=None,
            message=f"{', '.join(going)} would be removed only because no file has it, and nobody looked whether base has.",
            fix="Compare with the branch this is merged into:\n  nodusctl plan --ci --base origin/main\n"
            f"Or, if the removal is meant, say so:\n  nodusctl plan --ci --allow-deletes {len(going)}",
        )


def _state_has_left(work: BaseWork, snapshot: Snapshot) -> bool:
    """True where the state isn't any more what the branch began from."""
    standing = snapshot.get(work.address)
    applied = plain(standing.record.applied) if standing is not None and standing.record.applied is not None else None
    former = plain(work.former) if work.former is not None else None
    return applied != former


def _what(work: BaseWork) -> str:
    if work.is_contested:
        return f"{work.file} was changed there and here"
    if work.is_removal:
        return f"{work.file} lost it there"
    return f"{work.file} {'changed it' if work.former is not None else 'has it'} there"


def without(actions: Iterable[Action], undone: Mapping[Address, BaseWork], *, is_accepted: bool) -> tuple[Action, ...]:
    """The Actions that follow from the branch itself."""
    return tuple(action for action in actions if is_accepted or action.address not in undone)
