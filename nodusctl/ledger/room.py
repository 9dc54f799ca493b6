"""What is left under a limit: of a Budget, or of what was granted. Sums kept as they grow, so that asking again costs next to nothing.

A limit counts what is held now and what was charged in its period. The surprise: an entry may lower what counts (a capture dated in the
month before), and one that does always fits, however far the limit is passed already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from nodusctl.base.money import ZERO, Money
from nodusctl.ledger.entries import AVAILABLE, GRANTED, Entry

_HELD, _CHARGED = "held", "charged"


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldGuard:
    """A limit that holds must fit. ``name`` is the Budget's address, or ``credits`` for the granted balance, whose ``limit`` is None.

    ``objects`` are the uids that count, None for all of this state, removed ones too. ``since`` is the first moment of the UTC month from
    which charges count; None: ever. ``accrued`` is storage that counts too and isn't posted yet.
    """

    name: str
    limit: Money | None
    objects: frozenset[str] | None = None
    since: datetime | None = None
    accrued: Money = ZERO


CREDITS = HoldGuard(name="credits", limit=None)
"""What was granted and is neither held nor charged; no limit before the first grant (post-paid)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """A guard without room: ``needed`` against ``remaining``, which is never below zero."""

    guard: HoldGuard
    needed: Money
    remaining: Money


@dataclass(slots=True)
class _Scope:
    """The objects a limit names, and the amount over them."""

    objects: frozenset[str]
    micro: int


class _Sums:
    """Amounts by object, over all of them, and over the objects of each limit that was asked for.

    A limit may name as many objects as there are steps that ask for it, so its amount is carried and grows with each that is added.
    """

    def __init__(self) -> None:
        self.whole, self._by_object = 0, dict[str, int]()
        self._scopes: dict[str, _Scope] = {}

    def add(self, object_uid: str, micro: int) -> None:
        self.whole += micro
        self._by_object[object_uid] = self._by_object.get(object_uid, 0) + micro
        for scope in self._scopes.values():
            if object_uid in scope.objects:
                scope.micro += micro

    def over(self, objects: Collection[str] | None) -> int:
        return self.whole if objects is None else sum(self._by_object.get(uid, 0) for uid in objects)

    def under(self, guard: HoldGuard) -> int:
        """Over what a limit names; carried for as long as the limit comes with the very same objects."""
        if guard.objects is None:
            return self.whole
        scope = self._scopes.get(guard.name)
        if scope is None or scope.objects is not guard.objects:
            few, many = sorted((guard.objects, self._by_object.keys()), key=len)
            scope = _Scope(guard.objects, sum(self._by_object[uid] for uid in few if uid in many))
            self._scopes[guard.name] = scope
        return scope.micro

    def each(self) -> Iterator[tuple[str, int]]:
        return iter(sorted(self._by_object.items()))

    def copy(self) -> _Sums:
        other = _Sums()
        other.whole, other._by_object = self.whole, dict(self._by_object)
        return other


class Tally:
    """Sums of postings by object, side and (for charges) UTC month; in micro-USD inside."""

    def __init__(self) -> None:
        self._available, self._has_grant = 0, False
        self._held = _Sums()
        self._charged: defaultdict[str, _Sums] = defaultdict(_Sums)

    def add(self, object_uid: str, side: str, month: str, micro: int) -> None:
        """Count one sum; ``side`` is the account without its Attempt, ``month`` is ``2026-03`` (of charges only)."""
        if side == AVAILABLE:
            self._available += micro
        elif side == GRANTED:
            self._has_grant = True
        elif side == _HELD:
            self._held.add(object_uid, micro)
        elif side == _CHARGED:
            self._charged[month].add(object_uid, micro)

    def rows(self) -> Iterator[tuple[str, str, str, int]]:
        """What ``add`` takes to make the same sums again: object uid, side, month, micro-USD."""
        yield "", AVAILABLE, "", self._available
        if self._has_grant:
            yield "", GRANTED, "", 0
        yield from ((uid, _HELD, "", micro) for uid, micro in self._held.each())
        for month, sums in sorted(self._charged.items()):
            yield from ((uid, _CHARGED, month, micro) for uid, micro in sums.each())

    def post(self, entries: Iterable[Entry]) -> Tally:
        """The same tally, with these entries counted."""
        for entry in entries:
            for posting in entry.postings:
                self.add(entry.object_uid, posting.account.partition(":")[0], month_key(entry.time), posting.amount.micro)
        return self

    def copy(self) -> Tally:
        """Another one with the same sums."""
        other = Tally()
        other._available, other._has_grant = self._available, self._has_grant
        other._held = self._held.copy()
        other._charged.update({month: sums.copy() for month, sums in self._charged.items()})
        return other

    @property
    def available(self) -> Money:
        """The granted balance; below zero is normal before the first grant."""
        return Money(self._available)

    @property
    def has_grant(self) -> bool:
        """True once anything was granted."""
        return self._has_grant

    def held(self, objects: Collection[str] | None) -> Money:
        """What the objects hold now."""
        return Money(self._held.over(objects))

    def charged(self, objects: Collection[str] | None, since: datetime | None) -> Money:
        """What they were charged since the month that begins at ``since``."""
        return Money(sum(sums.over(objects) for sums in self._charged_since(since)))

    def used(self, guard: HoldGuard) -> Money:
        """What counts against a limit of what was posted; storage that accrues comes on top of it (``used_under``)."""
        return Money(self._held.under(guard) + sum(sums.under(guard) for sums in self._charged_since(guard.since)))

    def _charged_since(self, since: datetime | None) -> Iterator[_Sums]:
        first = month_key(since) if since is not None else ""
        return (sums for month, sums in self._charged.items() if month >= first)


def used_under(guard: HoldGuard, tally: Tally) -> Money:
    """What counts against a limit now."""
    return tally.used(guard) + guard.accrued


def room_under(guard: HoldGuard, *tallies: Tally) -> Money | None:
    """What a limit has left over all tallies together; below zero where it is passed, None where it limits nothing."""
    if guard.limit is None:
        return _sum(one.available for one in tallies) if any(one.has_grant for one in tallies) else None
    return guard.limit - guard.accrued - _sum(one.used(guard) for one in tallies)


def room_after(left: Money | None, guard: HoldGuard, new: Tally) -> Money | None:
    """What a limit that had ``left`` has once more entries are posted. A first grant among them changes nothing here."""
    if left is None:
        return None
    return left + new.available if guard.limit is None else left - new.used(guard)


def shortage(guards: Iterable[HoldGuard], entries: Iterable[Entry], *tallies: Tally) -> Shortage | None:
    """The first guard that entries about to be posted don't fit; entries that lower what counts always fit."""
    new = Tally().post(entries)
    for guard in guards:
        room = room_under(guard, *tallies)
        needed = -new.available if guard.limit is None else new.used(guard)
        if room is not None and needed > ZERO and needed > room:
            return Shortage(guard=guard, needed=needed, remaining=max(room, ZERO))
    return None


def month_key(moment: datetime) -> str:
    """``2026-03``: the UTC month of a moment; sorts as text."""
    return f"{moment.astimezone(UTC):%Y-%m}"


def _sum(amounts: Iterable[Money]) -> Money:
    return sum(amounts, start=ZERO)
