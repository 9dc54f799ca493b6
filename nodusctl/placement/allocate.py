"""Who gets which exclusive unit, for all objects of one plan at once: a fold over the objects in plan order.

Devices, not unit ids, are what is held: a pair and a single card that share a device exclude each other. A cloud's offer has no
units and is simply taken. An object's first offer with enough free viable units wins, so a busy card falls through to the next offer.

The surprise: the order of objects decides. What an earlier object of the plan takes is held for a later one, with no known end.
It stands last among the sets the later one may try all the same, because an approval outlives the plan it was given in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias

from nodusctl.placement.rank import Ranked
from nodusctl.placement.units import UnitSet, device_key, devices_of, pick, sets_of
from nodusctl.provider.offers import Availability, Offer, Unit

MOST_SETS = 8
"""How many sets of one offer's units an approval names: more than a host has cards that one machine takes alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """One object that needs one machine. ``own_names`` are the holders that mean itself (its address, uid, machine name)."""

    address: str
    ranked: tuple[Ranked, ...]
    own_names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """``choice`` can be launched now, on ``units`` where devices are exclusive."""

    address: str
    choice: Ranked
    units: tuple[Unit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """Not now: sold out, or held until ``free_from`` (None where capacity returns at an unknown time)."""

    address: str
    choice: Ranked
    free_from: datetime | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A unit somebody has. ``holder`` is what the provider reports, or the address of an earlier object of this plan.

    ``fix`` is the provider's command that frees it; "" where the holder is inside this plan or the provider knows none.
    """

    unit: str
    devices: tuple[str, ...]
    holder: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceBusy:
    """Every fitting unit is held and no end is known."""

    address: str
    choice: Ranked
    needed: int
    free: int
    held: tuple[Held, ...]

    @property
    def message(self) -> str:
        """``1 GPU needed, 0 free; 0000:01:00.0 held by workspace/a``."""
        holders = "; ".join(f"{', '.join(one.devices)} held by {one.holder}" for one in self.held)
        return f"{self.needed} GPU{'s' if self.needed != 1 else ''} needed, {self.free} free; {holders}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotViable:
    """No set of units could serve this even if all were free (an IOMMU group with a foreign device): DeviceGroupNotViable."""

    address: str
    choice: Ranked
    reasons: tuple[str, ...]
    fixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOffer:
    """Nothing was ranked for this object; the funnel says why."""

    address: str


Seating: TypeAlias = Placed | Queued | DeviceBusy | NotViable | NoOffer


@dataclass(frozen=True, slots=True, kw_only=True)
class Holders:
    """Who has which device: by what providers report, and ``in_plan`` by device key (``device_key``) among the objects of the plan.

    ``ends`` is when a holder lets go for certain, by the name the provider gives it.
    """

    in_plan: Mapping[str, str] = field(default_factory=dict)
    ends: Mapping[str, datetime] = field(default_factory=dict)

    def of(self, seat: Seat, offer: Offer, unit: Unit) -> str:
        """Who has any device of the unit, the object itself aside; empty where it is free."""
        in_plan = (self.in_plan.get(device_key(offer, device), "") for device in devices_of(unit))
        names: Iterable[str] = (unit.holder, *in_plan)
        return next((name for name in names if name and name not in seat.own_names and name != seat.address), "")

    def end_of(self, seat: Seat, offer: Offer, unit: Unit) -> datetime | None:
        """When the unit is let go of, where that is known; a holder inside this plan has no known end."""
        holder = self.of(seat, offer, unit)
        return self.ends.get(holder) if holder == unit.holder else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """``answers`` in the order of the seats, and who holds what once all of them have sat down."""

    answers: tuple[Seating, ...]
    holders: Holders


def allocate(seats: Sequence[Seat], ends: Mapping[str, datetime] | None = None) -> Allocation:
    """Seat each object in turn.

    Args:
        seats: objects with their ranked offers, in plan order.
        ends: holder as a provider names it to when it lets go for certain.
    """
    holders = Holders(ends=ends or {})
    answers: list[Seating] = []
    for seat in seats:
        answer = _seat(seat, holders)
        if isinstance(answer, Placed) and answer.units:
            offer = answer.choice.candidate.offer
            taken = {device_key(offer, device): seat.address for unit in answer.units for device in devices_of(unit)}
            holders = replace(holders, in_plan={**holders.in_plan, **taken})
        answers.append(answer)
    return Allocation(answers=tuple(answers), holders=holders)


def unit_sets(seat: Seat, choice: Ranked, holders: Holders, seated: UnitSet = ()) -> tuple[UnitSet, ...]:
    """The sets of an offer's units in the order a start should try them; empty where it has no units, or none that can be used.

    First what was ``seated``, then what is free now, then what is let go of at a known time, then whatever could be used.
    """
    offer = choice.candidate.offer
    needed = max(offer.gpu_count, 1)
    viable = [unit for unit in offer.units if unit.is_viable]
    free = [unit for unit in viable if not holders.of(seat, offer, unit)]
    ending = [unit for unit in viable if unit in free or holders.end_of(seat, offer, unit) is not None]
    found: dict[frozenset[str], UnitSet] = {}
    for one in (*sets_of(free, needed, seated), *sets_of(ending, needed), *sets_of(viable, needed)):
        found.setdefault(frozenset(unit.id for unit in one), one)
    return tuple(found.values())[:MOST_SETS]


def _seat(seat: Seat, holders: Holders) -> Seating:
    answers: list[Seating] = []
    for choice in seat.ranked:
        answer = _try(seat, choice, holders)
        if isinstance(answer, Placed):
            return answer
        answers.append(answer)
    for kind in (Queued, DeviceBusy, NotViable):
        same = [answer for answer in answers if isinstance(answer, kind)]
        if same:
            return min(same, key=_waiting_time) if kind is Queued else same[0]
    return NoOffer(address=seat.address)


def _waiting_time(answer: Seating) -> tuple[bool, float]:
    known = answer.free_from if isinstance(answer, Queued) else None
    return (known is None, known.timestamp() if known is not None else 0.0)


def _try(seat: Seat, choice: Ranked, holders: Holders) -> Seating:
    offer = choice.candidate.offer
    if not offer.units:
        if offer.availability is Availability.SOLD_OUT:
            return Queued(address=seat.address, choice=choice, free_from=None, why="sold out")
        return Placed(address=seat.address, choice=choice)
    needed = max(offer.gpu_count, 1)
    viable = [unit for unit in offer.units if unit.is_viable]
    if pick(viable, needed) is None:
        reasons = tuple(f"{', '.join(devices_of(unit))}: {unit.why_not}" for unit in offer.units if not unit.is_viable)
        fixes = tuple(dict.fromkeys(unit.fix for unit in offer.units if not unit.is_viable and unit.fix))
        return NotViable(address=seat.address, choice=choice, reasons=reasons or (f"{len(viable)} units, {needed} needed",), fixes=fixes)
    free = [unit for unit in viable if not holders.of(seat, offer, unit)]
    units = pick(free, needed)
    if units is not None:
        return Placed(address=seat.address, choice=choice, units=units)
    return _busy(seat, choice, viable, holders)


def _busy(seat: Seat, choice: Ranked, viable: Sequence[Unit], holders: Holders) -> Seating:
    """Everything that would do is held: when enough of it ends, and who has it."""
    offer = choice.candidate.offer
    needed = max(offer.gpu_count, 1)
    ends = {unit.id: holders.end_of(seat, offer, unit) for unit in viable}
    for moment in sorted({end for end in ends.values() if end is not None}):
        by_then = [u for u in viable if not holders.of(seat, offer, u) or ((end := ends[u.id]) is not None and end <= moment)]
        if pick(by_then, needed) is not None:
            return Queued(address=seat.address, choice=choice, free_from=moment, why="its devices are held until then")
    taken = [(unit, holders.of(seat, offer, unit)) for unit in viable]
    return DeviceBusy(
        address=seat.address,
        choice=choice,
        needed=needed,
        free=sum(unit.gpu_count for unit, holder in taken if not holder),
        held=tuple(
            Held(unit=unit.id, devices=devices_of(unit), holder=holder, fix=unit.fix if holder == unit.holder else "")
            for unit, holder in taken
            if holder
        ),
    )
