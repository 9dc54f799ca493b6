"""The world's offers as the platform quotes them now: one Offer for each line, zone and way of paying."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nodus_providers.simulated.database import Transaction
from nodus_providers.simulated.effects import Gone, Partial, Price
from nodus_providers.simulated.gate import Effects, matches
from nodus_providers.simulated.instants import from_micro
from nodus_providers.simulated.machines import occupied
from nodus_providers.simulated.rows import MachineRow
from nodus_providers.simulated.world import OfferLine, World, Zone
from nodusctl.base.money import Money
from nodusctl.provider.offers import Accelerator, Availability, Offer, OfferQuery, Quote

SOURCE = "simulated world"


def offers(tx: Transaction, world: World, instance: str, query: OfferQuery, effects: Effects) -> tuple[Offer, ...]:
    """All offers a query asks for.

    A ``price`` or ``gone`` fault speaks of the offers whose id its match names; ``ID/spot`` names an interruptible one.
    """
    quoted = tuple(offer for line in world.offers for offer in _of_line(tx, world, instance, line, effects))
    shown = tuple(offer for offer in quoted if _is_asked_for(offer, query) and not _is_hidden(offer, effects))
    partial = effects.first(Partial)
    return shown if partial is None else shown[: len(shown) * partial.percent // 100]


def names_to_match(world: World) -> tuple[str, ...]:
    """What the match of a rule on ``price`` can name."""
    return tuple(name for line in world.offers for name in (line.id, f"{line.id}/spot"))


def _of_line(tx: Transaction, world: World, instance: str, line: OfferLine, effects: Effects) -> Iterator[Offer]:
    has_room = not _is_full(tx, world)
    for name in line.zones:
        zone = world.zone(name)
        if zone is None:
            continue
        is_free = has_room and (line.capacity is None or occupied(tx, world, line.id, name) < line.capacity)
        availability = Availability.AVAILABLE if is_free else Availability.SOLD_OUT
        plain = _offer(world, line, zone)
        on_demand = _quote(tx, line.rate, _scripted_rate(line.id, effects))
        yield replace(plain, provider=instance, availability=availability, quote=on_demand)
        if line.spot_rate is not None:
            spot = _quote(tx, line.spot_rate, _scripted_rate(f"{line.id}/spot", effects))
            yield replace(plain, provider=instance, availability=availability, quote=spot, is_interruptible=True)


def _is_full(tx: Transaction, world: World) -> bool:
    if world.quotas.machines is None:
        return False
    return tx.count(MachineRow, "account = ? AND state NOT IN ('terminated', 'gone')", world.account) >= world.quotas.machines


def _scripted_rate(name: str, effects: Effects) -> Money | None:
    return next((price.rate for price, match in effects.every(Price) if matches(match, (name,))), None)


def _quote(tx: Transaction, rate: Money | None, scripted: Money | None) -> Quote | None:
    quoted = scripted or rate
    return Quote(rate_usd_per_hour=quoted, observed_at=from_micro(tx.now), source=SOURCE) if quoted else None


def _is_hidden(offer: Offer, effects: Effects) -> bool:
    return any(matches(match, (offer.id,)) for _, match in effects.every(Gone))


def _is_asked_for(offer: Offer, query: OfferQuery) -> bool:
    family = offer.accelerator.family if offer.accelerator else ""
    is_family = not query.accelerator_families or family in query.accelerator_families
    return is_family and (not query.locations or offer.location in query.locations)


def _offer(world: World, line: OfferLine, zone: Zone) -> Offer:
    gpu, billing = line.gpu, world.billing
    return Offer(
        provider="",
        id=line.id,
        instance_type=line.instance_type,
        region=zone.region,
        zone=zone.name,
        region_class=zone.region_class,
        location=world.location(zone.name),
        accelerator=Accelerator(id=gpu.id, family=gpu.family, vendor=gpu.vendor, memory_bytes=gpu.memory) if gpu else None,
        gpu_count=gpu.count if gpu else 0,
        has_nvlink=gpu.nvlink if gpu else False,
        vcpu_milli=line.cpu,
        memory_bytes=line.memory,
        disk_bytes=line.disk,
        storage_usd_per_gib_month=billing.storage_rate,
        startup_p50=world.times.boot_p50,
        startup_p90=world.times.boot_p90,
        increment_seconds=max(1, int(billing.increment.total_seconds())),
        minimum_seconds=int(billing.minimum.total_seconds()),
    )
