"""Which exclusive units go to one machine together: whole ones, with exactly the GPUs asked for and no device twice.

The surprise: there is no best spare. After the first set come those that share nothing with it, then those that do without one of its
units, so that whichever single card is lost, some set is left that doesn't need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from nodusctl.provider.offers import Offer, Unit

UnitSet = tuple[Unit, ...]


def devices_of(unit: Unit) -> tuple[str, ...]:
    """What of it can be held: its devices, or itself where the provider names none."""
    return unit.devices or (unit.id,)


def device_key(offer: Offer, device: str) -> str:
    """Names a device among all providers' hosts."""
    return f"{offer.provider}/{offer.location}/{device}"


def pick(units: Sequence[Unit], needed: int) -> UnitSet | None:
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


def sets_of(units: Sequence[Unit], needed: int, first: UnitSet = ()) -> Iterator[UnitSet]:
    """Sets in the order they should be tried, some maybe twice; ``first`` is one that was chosen already and stands in front."""
    best = first or pick(units, needed)
    if best is None or needed <= 0:
        return
    yield best
    left = _without(units, best)
    while (apart := pick(left, needed)) is not None:
        yield apart
        left = _without(left, apart)
    for lost in best:
        if (other := pick(_without(units, (lost,)), needed)) is not None:
            yield other


def _without(units: Iterable[Unit], taken: UnitSet) -> list[Unit]:
    gone = {device for unit in taken for device in devices_of(unit)}
    return [unit for unit in units if not gone & set(devices_of(unit))]


def _first_set(units: Sequence[Unit], needed: int) -> UnitSet | None:
    """The first such set in the provider's order of preference."""
    if needed == 0:
        return ()
    for index, unit in enumerate(units):
        if unit.gpu_count <= needed:
            rest = _first_set(_without(islice(units, index + 1, None), (unit,)), needed - unit.gpu_count)
            if rest is not None:
                return (unit, *rest)
    return None
