"""Makers of offers and candidates for tests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from nodusctl.base.money import Money
from nodusctl.placement.accelerators import GIB, accelerator
from nodusctl.placement.candidates import Candidate, candidate
from nodusctl.placement.offering_ids import parse_offering_id
from nodusctl.provider.offers import Offer


def offer(offering: str, **changes: Any) -> Offer:
    """An offer of the shape its id names, at provider ``sim`` in zone ``<region class>-1a``."""
    shape = parse_offering_id(offering)
    assert shape is not None
    zone = changes.pop("zone", f"{shape.region_class}-1a")
    fields: dict[str, Any] = {
        "provider": "sim",
        "id": offering,
        "instance_type": offering,
        "region": f"{shape.region_class}-1",
        "zone": zone,
        "region_class": shape.region_class,
        "location": f"sim/{zone}",
        "accelerator": accelerator(shape.family, shape.form, shape.memory_gib) if shape.family else None,
        "gpu_count": shape.count,
        "vcpu_milli": (shape.vcpu or 16 * shape.count) * 1000,
        "memory_bytes": (128 * shape.count if shape.family else shape.memory_gib) * GIB,
        "startup_p50": timedelta(seconds=45),
        "startup_p90": timedelta(seconds=60),
    }
    return Offer(**(fields | changes))


def priced(offering: str, rate: str | None, **changes: Any) -> Candidate:
    """A candidate at ``rate`` USD an hour; None is unknown."""
    return candidate(offer(offering, **changes), Money.parse(rate) if rate is not None else None)
