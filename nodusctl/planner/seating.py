"""Each need meets the market: its offers in order, who gets which exclusive unit, and the Terms a reviewer approves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nodusctl.placement.allocate import Placed, Queued, Seat, Seating, allocate
from nodusctl.placement.rank import Ranked
from nodusctl.planner.market import Found, Marketplace
from nodusctl.planner.needs import Need, Urgency
from nodusctl.state.terms import Terms

MOST_OFFERS = 8
"""How many offers one approval lists: enough for every zone of a region, few enough to be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seated:
    """A need with what it met. ``seating`` is None for a need that only wants its price shown, or that met nothing priced."""

    need: Need
    found: Found
    seating: Seating | None

    @property
    def choice(self) -> Ranked | None:
        """The offer the estimate is for: the one that can be had now, else the best."""
        if isinstance(self.seating, (Placed, Queued)):
            return self.seating.choice
        return self.found.ranked[0] if self.found.ranked else None


def seated(needs: Sequence[Need], market: Marketplace) -> tuple[Seated, ...]:
    """Match every need, then seat those that must have a machine, in plan order."""
    found = [market.find(need.request, needs_own_image=need.needs_own_image, pool_rate=need.pool_rate) for need in needs]
    wanting = [(need, one) for need, one in zip(needs, found, strict=True) if need.urgency is Urgency.REQUIRED and one.ranked]
    seats = [Seat(address=str(need.address), ranked=one.ranked, own_names=_own_names(need)) for need, one in wanting]
    answers = dict(zip((seat.address for seat in seats), allocate(seats), strict=True))
    return tuple(Seated(need=need, found=one, seating=answers.get(str(need.address))) for need, one in zip(needs, found, strict=True))


def terms_of(one: Seated, market: Marketplace) -> tuple[Terms, ...]:
    """The offers apply may try, the chosen one first, each at the price printed and the ceiling that follows from it."""
    choice = one.choice
    if choice is None:
        return ()
    rest = [ranked for ranked in one.found.ranked if ranked.key != choice.key]
    units = tuple(unit.id for unit in one.seating.units) if isinstance(one.seating, Placed) else ()
    in_order = [(choice, units), *((ranked, ()) for ranked in rest[: MOST_OFFERS - 1])]
    return tuple(market.terms(ranked.candidate.offer, unit_ids, one.need.pool_rate) for ranked, unit_ids in in_order)


def _own_names(need: Need) -> frozenset[str]:
    standing = need.draft.standing
    return frozenset({standing.record.uid, str(standing.record.address)} if standing is not None else ())
