"""Who gets which exclusive unit, for all objects of one plan at once: a fold over the objects in plan order.

Devices, not unit ids, are what is held: a pair and a single card that share a device exclude each other. A cloud's offer has no
units and is simply taken. An object's first offer with enough free viable units wins, so a busy card falls through to the next offer.

The surprise: the order of objects decides. What an earlier object of the plan takes is held for a later one, with no known end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from nodusctl.placement.rank import Ranked
from nodusctl.provider.offers import Availability, Offer, Unit


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


def allocate(seats: Sequence[Seat], already_held: Mapping[str, str] | None = None) -> tuple[Seating, ...]:
    """Seat each object in turn; the answer has the order of ``seats``.

    Args:
        seats: objects with their ranked offers, in plan order.
        already_held: device key (``device_key``) to holder, for devices known to be taken beyond what providers report.
    """
    held = dict(already_held or {})
    answers: list[Seating] = []
    for seat in seats:
        answer = _seat(seat, held)
        if isinstance(answer, Placed):
            offer = answer.choice.candidate.offer
            held |= {device_key(offer, device): seat.address for unit in answer.units for device in _devices(unit)}
        answers.append(answer)
    return tuple(answers)


def device_key(offer: Offer, device: str) -> str:
    """Names a device among all providers' hosts."""
    return f"{offer.provider}/{offer.location}/{device}"


def _seat(seat: Seat, held: Mapping[str, str]) -> Seating:
    answers: list[Seating] = []
    for choice in seat.ranked:
        answer = _try(seat, choice, held)
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


def _try(seat: Seat, choice: Ranked, held: Mapping[str, str]) -> Seating:
    offer = choice.candidate.offer
    if not offer.units:
        if offer.availability is Availability.SOLD_OUT:
            return Queued(address=seat.address, choice=choice, free_from=None, why="sold out")
        return Placed(address=seat.address, choice=choice)
    needed = max(offer.gpu_count, 1)
    viable = [unit for unit in offer.units if unit.is_viable]
    if _pick(viable, needed) is None:
        reasons = tuple(f"{', '.join(_devices(unit))}: {unit.why_not}" for unit in offer.units if not unit.is_viable)
        fixes = tuple(dict.fromkeys(unit.fix for unit in offer.units if not unit.is_viable and unit.fix))
        return NotViable(address=seat.address, choice=choice, reasons=reasons or (f"{len(viable)} units, {needed} needed",), fixes=fixes)
    free = [unit for unit in viable if not _holder(seat, offer, unit, held)]
    units = _pick(free, needed)
    if units is not None:
        return Placed(address=seat.address, choice=choice, units=units)
    return _busy(seat, choice, viable, held)


def _busy(seat: Seat, choice: Ranked, viable: Sequence[Unit], held: Mapping[str, str]) -> Seating:
    """Everything that would do is held: when enough of it ends, and who has it."""
    offer = choice.candidate.offer
    needed = max(offer.gpu_count, 1)
    ends: dict[str, datetime | None] = {unit.id: _free_from(seat, offer, unit, held) for unit in viable}
    for moment in sorted({end for end in ends.values() if end is not None}):
        by_then = [u for u in viable if not _holder(seat, offer, u, held) or ((end := ends[u.id]) is not None and end <= moment)]
        if _pick(by_then, needed) is not None:
            return Queued(address=seat.address, choice=choice, free_from=moment, why="its devices are held until then")
    taken = [(unit, _holder(seat, offer, unit, held)) for unit in viable]
    return DeviceBusy(
        address=seat.address,
        choice=choice,
        needed=needed,
        free=sum(unit.gpu_count for unit, holder in taken if not holder),
        held=tuple(
            Held(unit=unit.id, devices=_devices(unit), holder=holder, fix=unit.fix if holder == unit.holder else "")
            for unit, holder in taken
            if holder
        ),
    )


def _holder(seat: Seat, offer: Offer, unit: Unit, held: Mapping[str, str]) -> str:
    """Who has any device of the unit, the object itself aside; empty where it is free."""
    in_plan = (held.get(device_key(offer, device), "") for device in _devices(unit))
    names: Iterable[str] = (unit.holder, *in_plan)
    return next((name for name in names if name and name not in seat.own_names and name != seat.address), "")


def _free_from(seat: Seat, offer: Offer, unit: Unit, held: Mapping[str, str]) -> datetime | None:
    """When the provider knows the unit comes free; a holder inside this plan has no known end."""
    if any(held.get(device_key(offer, device)) for device in _devices(unit)):
        return None
    return unit.free_from


def _devices(unit: Unit) -> tuple[str, ...]:
    return unit.devices or (unit.id,)


def _pick(units: Sequence[Unit], needed: int) -> tuple[Unit, ...] | None:
    """A set of whole units with exactly ``needed`` GPUs and no shared device: of units near each other where they suffice, else of all.

    Where several places suffice, the one with the fewest units left is taken, so that a later object finds the larger one whole.
    """
    places: dict[str, list[Unit]] = {}
    for unit in units:
        if unit.near:
            places.setdefault(unit.near, []).append(unit)
    for place in sorted(places.values(), key=len):
        found = _first_set(place, needed)
        if found is not None:
            return found
    return _first_set(units, needed)


def _first_set(units: Sequence[Unit], needed: int) -> tuple[Unit, ...] | None:
    """The first such set in the provider's order of preference."""
    if needed == 0:
        return ()
    for index, unit in enumerate(units):
        if unit.gpu_count <= needed:
            apart = [other for other in units[index + 1 :] if not set(_devices(other)) & set(_devices(unit))]
            rest = _first_set(apart, needed - unit.gpu_count)
            if rest is not None:
                return (unit, *rest)
    return None
