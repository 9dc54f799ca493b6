"""Each need meets the market: its offers in order, who gets which exclusive unit, and the Terms a reviewer approves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from nodusctl.base.ids import Address
from nodusctl.placement.allocate import Holders, Placed, Queued, Seat, Seating, allocate, unit_sets
from nodusctl.placement.explain import MOST_OFFERS
from nodusctl.placement.rank import Ranked
from nodusctl.planner.market import Found, Marketplace
from nodusctl.planner.needs import Need, Urgency
from nodusctl.state.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Seated:
    """A need with what it met. ``seating`` is None for a need that only wants its price shown, or that met nothing priced.

    ``holders`` is who has which device once every need of the plan was seated.
    """

    need: Need
    found: Found
    seating: Seating | None
    holders: Holders = field(default_factory=Holders)

    @property
    def choice(self) -> Ranked | None:
        """The offer the estimate is for: the one that can be had now, else the best."""
        if isinstance(self.seating, (Placed, Queued)):
            return self.seating.choice
        return self.found.ranked[0] if self.found.ranked else None


def seated(needs: Sequence[Need], market: Marketplace, ends: Mapping[Address, datetime] | None = None) -> tuple[Seated, ...]:
    """Match every need, then seat those that must have a machine, in plan order. ``ends`` is when objects end that hold devices now."""
    found = [market.find(need.request, needs_own_image=need.needs_own_image, pool_rate=need.pool_rate) for need in needs]
    wanting = [(need, one) for need, one in zip(needs, found, strict=True) if need.urgency is Urgency.REQUIRED and one.ranked]
    seats = [_seat(need, one) for need, one in wanting]
    allocation = allocate(seats, {str(address): moment for address, moment in (ends or {}).items()})
    answers = dict(zip((seat.address for seat in seats), allocation.answers, strict=True))
    return tuple(
        Seated(need=need, found=one, seating=answers.get(str(need.address)), holders=allocation.holders)
        for need, one in zip(needs, found, strict=True)
    )


def terms_of(one: Seated, market: Marketplace) -> tuple[Terms, ...]:
    """The offers apply may try, the chosen one first, each at the price printed and the ceiling that follows from it.

    Where devices are exclusive, each names every set of them it may be started on. An offer none of whose devices can be used is left out,
    for a start there would have none.
    """
    choice = one.choice
    if choice is None:
        return ()
    rest = [ranked for ranked in one.found.ranked if ranked.key != choice.key]
    made = ((ranked, _terms(one, ranked, market)) for ranked in (choice, *rest[: MOST_OFFERS - 1]))
    return tuple(terms for ranked, terms in made if ranked is choice or terms.unit_ids or not ranked.candidate.offer.units)


def _terms(one: Seated, ranked: Ranked, market: Marketplace) -> Terms:
    placed = one.seating if isinstance(one.seating, Placed) and one.seating.choice.key == ranked.key else None
    sets = unit_sets(_seat(one.need, one.found), ranked, one.holders, placed.units if placed is not None else ())
    named = tuple(tuple(unit.id for unit in units) for units in sets)
    return market.terms(ranked.candidate.offer, named, one.need.pool_rate)


def _seat(need: Need, found: Found) -> Seat:
    return Seat(address=str(need.address), ranked=found.ranked, own_names=_own_names(need))


def _own_names(need: Need) -> frozenset[str]:
    standing = need.draft.standing
    return frozenset({standing.record.uid, str(standing.record.address)} if standing is not None else ())
