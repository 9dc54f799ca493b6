"""What a host offers: itself without cards, and its cards by kind and count. Pure.

Memory that other people's machines have is not offered, because a machine with cards pins all of its own at the start. The surprise: on a
board with NVSwitches only single cards are offered, because which sets of cards may be joined is the fabric manager's to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from nodus_providers.libvirt.groups import Group
from nodus_providers.libvirt.inventory import HostInventory
from nodus_providers.libvirt.pci_models import Model
from nodus_providers.libvirt.units import unit_of
from nodusctl.base.money import Money
from nodusctl.provider.offers import Availability, Offer, OfferQuery, Quote

COUNTS = (1, 2, 4, 8, 16)
_GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class HostShape:
    """A host as offered: ``zone`` names it in offers, ``location`` is where its disks are. ``rate`` is USD per hour, None for unset.

    ``memory_bytes`` is what machines may have of it; ``memory_limit_bytes`` bounds what is offered of that, None for all. ``page_bytes``
    is the size of the huge pages that machines with cards take their memory from, 0 for ordinary memory.
    """

    instance: str
    zone: str
    location: str
    cpu_milli: int
    memory_bytes: int
    memory_limit_bytes: int | None = None
    page_bytes: int = 0
    rate: Money | None = None
    startup_p50: timedelta
    startup_p90: timedelta


def whole_offer(shape: HostShape, inventory: HostInventory, now: datetime) -> Offer:
    """The host without cards. ``now`` dates the price."""
    memory = max(shape.memory_bytes - foreign_memory(inventory), 0)
    if shape.memory_limit_bytes is not None:
        memory = min(memory, shape.memory_limit_bytes)
    return Offer(
        provider=shape.instance,
        id=f"cpu-{max(1, shape.cpu_milli // 1000)}c-{max(1, memory // _GIB)}g-local",
        instance_type="libvirt",
        region="local",
        zone=shape.zone,
        region_class="local",
        location=shape.location,
        vcpu_milli=shape.cpu_milli,
        memory_bytes=memory,
        is_own_hardware=True,
        availability=Availability.AVAILABLE if memory else Availability.SOLD_OUT,
        quote=None if shape.rate is None else Quote(rate_usd_per_hour=shape.rate, observed_at=now, source="settings"),
        startup_p50=shape.startup_p50,
        startup_p90=shape.startup_p90,
    )


def offers_of(shape: HostShape, inventory: HostInventory, now: datetime, query: OfferQuery | None = None) -> tuple[Offer, ...]:
    """Everything the host offers that ``query`` asks for: first itself, then its cards by kind."""
    asked = query or OfferQuery()
    if asked.locations and shape.location not in asked.locations:
        return ()
    whole = whole_offer(shape, inventory, now)
    beside = replace(whole, memory_bytes=min(whole.memory_bytes, inventory.huge_bytes(shape.page_bytes))) if shape.page_bytes else whole
    cards = tuple(_card_offers(beside, inventory, asked.accelerator_families))
    return cards if asked.accelerator_families else (whole, *cards)


def foreign_memory(inventory: HostInventory) -> int:
    """Bytes of running machines that aren't ours."""
    return sum(one.memory_bytes for one in inventory.claims if one.is_active and not one.owner)


def _card_offers(whole: Offer, inventory: HostInventory, families: Sequence[str]) -> Iterator[Offer]:
    kinds: dict[Model, list[Group]] = {}
    for group, model in inventory.offered:
        kinds.setdefault(model, []).append(group)
    has_switch = any(device.is_nvswitch for device in inventory.devices.values())
    for model, groups in kinds.items():
        if families and model.family not in families:
            continue
        units = tuple(unit_of(group, inventory) for group in groups)
        total = sum(unit.gpu_count for unit in units)
        reachable = _sums(unit.gpu_count for unit in units)
        free = sum(unit.gpu_count for unit in units if unit.is_viable and not unit.holder)
        for count in COUNTS:
            if count not in reachable or (has_switch and model.form == "sxm" and count > 1):
                continue
            yield replace(
                whole,
                id=model.offer_id(count),
                accelerator=model.accelerator,
                gpu_count=count,
                has_nvlink=model.form == "sxm" and count == total > 1,
                units=units,
                availability=Availability.AVAILABLE if free >= count and whole.memory_bytes else Availability.SOLD_OUT,
            )


def _sums(sizes: Iterable[int]) -> frozenset[int]:
    """How many cards whole units can add up to: a group of two cards never makes one."""
    found = {0}
    for size in sizes:
        found |= {size + one for one in found}
    return frozenset(found)
