"""What a provider sells right now. An Offer is one instance type in one zone, on demand or interruptible."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from nodusctl.base.money import Money


class Availability(StrEnum):
    """Whether a launch would find capacity now."""

    AVAILABLE = "available"
    SOLD_OUT = "sold-out"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One GPU model. ``id`` is the catalog id with form (``h100-sxm``), ``family`` what users ask for (``h100``)."""

    id: str
    family: str
    vendor: str
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A set of exclusive devices that goes to one machine as a whole (an IOMMU group, a NUMA node's cards).

    ``gpu_count`` is how many GPUs are among the devices (companion functions aren't GPUs); a machine may take several units, those with
    the same ``near`` (such as one NUMA node) before others. ``fix`` are the commands, one a line, by which a person frees a unit that
    is held, or makes one viable that isn't.
    """

    id: str
    devices: tuple[str, ...]
    gpu_count: int = 1
    holder: str = ""
    is_viable: bool = True
    why_not: str = ""
    near: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A price the platform itself gave."""

    rate_usd_per_hour: Money
    observed_at: datetime
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One thing that can be launched.

    ``id`` is the offering id (``h100-sxm-80g-x8-us``, ``cpu-4c-16g-us``), equal across providers that sell the same shape.
    ``location`` is where a disk must be to be attached (account and zone, or host); offers for an existing Volume are filtered by it.
    ``startup_p50``/``startup_p90`` are priors: launch call to tools answering.
    """

    provider: str
    id: str
    instance_type: str
    region: str
    zone: str
    region_class: str
    location: str
    accelerator: Accelerator | None = None
    gpu_count: int = 0
    has_nvlink: bool = False
    vcpu_milli: int
    memory_bytes: int
    disk_bytes: int | None = None
    is_interruptible: bool = False
    is_own_hardware: bool = False
    availability: Availability = Availability.UNKNOWN
    units: tuple[Unit, ...] = ()
    quote: Quote | None = None
    storage_usd_per_gib_month: Money | None = None
    startup_p50: timedelta
    startup_p90: timedelta
    increment_seconds: int = 1
    minimum_seconds: int = 0

    @property
    def key(self) -> str:
        """Names this offer among all providers' offers: ``sim/us-1a/l4-24g-x1-us`` (``/spot`` where interruptible)."""
        return f"{self.provider}/{self.zone}/{self.id}" + ("/spot" if self.is_interruptible else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferQuery:
    """Narrows what ``offers`` must return; an empty field means any. A provider may return more than was asked."""

    accelerator_families: tuple[str, ...] = ()
    locations: tuple[str, ...] = ()
