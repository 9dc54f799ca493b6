"""What a plan ends or destroys, for the part of a comment that is never folded and never left out.

Five ways to say it, from a line with its notes for each object to bare names by consequence, each shorter than the one before. The last one
shortens long names in the middle, and where even that has no room the comment says how many are missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nodusctl.base.ids import Address
from nodusctl.plan.actions import Action, Verb
from nodusctl.plan.changes import ChangeClass
from nodusctl.plan.plan import Plan
from nodusctl.render.comment_text import span
from nodusctl.render.plan_changes import mark_of, shown_value

GRAVE = frozenset({ChangeClass.DESTROYS, ChangeClass.ENDS_SESSION, ChangeClass.REPLACES, ChangeClass.RESTARTS})
DROPS_REVISIONS, REPLACES_DISK = "destroys revisions", "replaces what is on the disk by a revision"
_GRAVE_VERBS = frozenset({Verb.DELETE, Verb.PRUNE, Verb.RESTORE, Verb.RESTART})
_GRAVEST_FIRST = (
    ChangeClass.DESTROYS.value,
    DROPS_REVISIONS,
    REPLACES_DISK,
    ChangeClass.REPLACES.value,
    ChangeClass.ENDS_SESSION.value,
    ChangeClass.RESTARTS.value,
)
SHORTEST_NAME = 12
"""A name is never shortened below this: less would tell two objects no longer apart."""
_DIGEST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One object that ends, restarts or loses data. ``details`` are the plan's own remarks and the fields that do it."""

    address: Address
    mark: str
    consequence: str
    details: tuple[str, ...] = ()


def losses_of(plan: Plan) -> tuple[Loss, ...]:
    """Every Action that removes, ends, restarts, replaces or destroys something; the gravest first, then in plan order."""
    return tuple(sorted((_loss(action) for action in plan.actions if is_grave(action)), key=lambda loss: _gravity(loss.consequence)))


def _gravity(consequence: str) -> int:
    return _GRAVEST_FIRST.index(consequence) if consequence in _GRAVEST_FIRST else len(_GRAVEST_FIRST)


def is_grave(action: Action) -> bool:
    """True where the Action takes something away from somebody."""
    return action.verb in _GRAVE_VERBS or action.change_class in GRAVE or any(change.change_class in GRAVE for change in action.changes)


def _loss(action: Action) -> Loss:
    fields = tuple(
        f"{change.path}: {shown_value(change.before)} -> {shown_value(change.after)}" + (f" ({change.note})" if change.note else "")
        for change in action.changes
        if change.change_class in GRAVE
    )
    return Loss(address=action.address, mark=mark_of(action), consequence=_consequence(action), details=(*action.notes, *fields))


def _consequence(action: Action) -> str:
    if action.change_class in GRAVE:
        return action.change_class.value
    heavy = [change.change_class for change in action.changes if change.change_class in GRAVE]
    if heavy:
        return heavy[0].value
    return {
        Verb.RESTORE: REPLACES_DISK,
        Verb.PRUNE: DROPS_REVISIONS,
        Verb.RESTART: ChangeClass.RESTARTS.value,
    }.get(action.verb, "is removed")


# The five ways


def told_with_notes(losses: Sequence[Loss]) -> Iterator[str]:
    """A line each, with its details below."""
    for loss in losses:
        yield _line(loss)
        yield from (f"  - {shown}" for detail in loss.details if (shown := span(detail)))


def told_in_lines(losses: Sequence[Loss]) -> Iterator[str]:
    """A line each."""
    yield from (_line(loss) for loss in losses)


def told_together(losses: Sequence[Loss]) -> Iterator[str]:
    """A line each consequence, with whole addresses."""
    for consequence, group in _by_consequence(losses).items():
        yield f"- **{consequence}** ({len(group)}): {span(', '.join(str(loss.address) for loss in group))}"


def told_by_kind(losses: Sequence[Loss], names: Mapping[Address, str]) -> Iterator[str]:
    """A line each consequence and kind, with names; ``names`` are the names as they are to be shown, those not in it are left out."""
    for consequence, group in _by_consequence(losses).items():
        for kind in dict.fromkeys(loss.address.kind for loss in group):
            alike = [loss.address for loss in group if loss.address.kind == kind]
            shown = ", ".join(names[address] for address in alike if address in names)
            yield f"- **{consequence}**, {kind} ({len(alike)}): {span(shown)}"


def whole_names(addresses: Iterable[Address]) -> dict[Address, str]:
    """Each name as it is."""
    return {address: address.name for address in addresses}


def fitted_names(addresses: Sequence[Address], room: int) -> dict[Address, str]:
    """Names that take at most ``room`` characters with a comma and a blank behind each: whole ones where they fit.

    The longest are shortened first, all to one width, so that short names stay whole; a shortened one ends in its own tail, or in a digest
    where two would look alike. Where even the shortest form has no room, as many as fit are there and the others are missing.
    """
    spare = room - 2 * len(addresses)
    width = _widest(sorted(len(address.name) for address in addresses), spare)
    if width < SHORTEST_NAME:
        return _as_many_as_fit(addresses, room)
    return _unlike({address: _middle_out(address.name, width) for address in addresses}, width)


def _widest(lengths: Sequence[int], spare: int) -> int:
    """The largest width to which all may be cut so that they fit in ``spare``."""
    left = spare
    for done, length in enumerate(lengths):
        each = left // (len(lengths) - done) if left > 0 else 0
        if length > each:
            return each
        left -= length
    return lengths[-1] if lengths else spare


def _as_many_as_fit(addresses: Sequence[Address], room: int) -> dict[Address, str]:
    count = max(room // (SHORTEST_NAME + 2), 0)
    chosen = addresses[:count]
    return _unlike({address: _middle_out(address.name, SHORTEST_NAME) for address in chosen}, SHORTEST_NAME)


def _middle_out(name: str, width: int) -> str:
    if len(name) <= width:
        return name
    tail = (width - 1) // 2
    return f"{name[: width - 1 - tail]}…{name[-tail:]}"


def _unlike(names: dict[Address, str], width: int) -> dict[Address, str]:
    """Where two shortened names of one kind look alike, their ends are digests of the whole names."""
    seen: dict[tuple[str, str], int] = {}
    for address, shown in names.items():
        seen[address.kind, shown] = seen.get((address.kind, shown), 0) + 1
    return {address: _with_digest(address.name, width) if seen[address.kind, shown] > 1 else shown for address, shown in names.items()}


def _with_digest(name: str, width: int) -> str:
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    return f"{name[: width - 1 - _DIGEST]}…{digest}"


def _by_consequence(losses: Sequence[Loss]) -> dict[str, list[Loss]]:
    groups: dict[str, list[Loss]] = {}
    for loss in losses:
        groups.setdefault(loss.consequence, []).append(loss)
    return groups


def _line(loss: Loss) -> str:
    return f"- {span(loss.mark)} {span(str(loss.address))} **{loss.consequence}**"
