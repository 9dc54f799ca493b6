"""What a world is: zones, offers, times, billing, manners, quotas. A frozen value, read from ``world.yaml`` or the default.

The surprise: no file is needed. A project without ``world.yaml`` lives in the default world, and ``sim init`` only writes it down.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator
from pydantic.alias_generators import to_camel

from nodusctl.base.durations import format_duration, parse_duration
from nodusctl.base.money import Money
from nodusctl.base.quantities import canonical_quantity, quantity_milli, quantity_units
from nodusctl.provider.contract import BillingEnd, BootForm, SelfStop


def _duration(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        raise ValueError("a duration is text such as 45s or 1h30m")
    return parse_duration(value)


def _bytes(value: Any) -> Any:
    return quantity_units(value) if isinstance(value, (str, int)) else value


def _milli(value: Any) -> Any:
    return quantity_milli(value) if isinstance(value, (str, int)) else value


def _priced(value: Money) -> Money:
    if not value:
        raise ValueError("0 is not a price; leave the key out where the price is unknown")
    return value


Duration = Annotated[timedelta, BeforeValidator(_duration), PlainSerializer(format_duration)]
ByteCount = Annotated[int, BeforeValidator(_bytes), PlainSerializer(canonical_quantity)]
MilliCores = Annotated[int, BeforeValidator(_milli), PlainSerializer(lambda milli: canonical_quantity(f"{milli}m"))]
Rate = Annotated[Money, AfterValidator(_priced)]


class Part(BaseModel):
    """A frozen piece of the world; keys in the file are camelCase, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class Zone(Part):
    """Where machines and disks are; a disk stays in its zone for ever."""

    name: str
    region: str
    region_class: str


class Gpu(Part):
    """The accelerators of an offer."""

    id: str
    family: str
    vendor: str = "nvidia"
    memory: ByteCount
    count: int = Field(default=1, ge=1)
    nvlink: bool = False


class OfferLine(Part):
    """One shape, sold in one or more zones. ``capacity`` bounds how many live machines of it a zone holds."""

    id: str
    instance_type: str
    zones: tuple[str, ...] = Field(min_length=1)
    cpu: MilliCores
    memory: ByteCount
    disk: ByteCount | None = None
    gpu: Gpu | None = None
    rate: Rate | None = Field(default=None, alias="rateUSDPerHour")
    spot_rate: Rate | None = Field(default=None, alias="spotUSDPerHour")
    capacity: int | None = Field(default=None, ge=0)


class Times(Part):
    """How long things take, and the bounds the platform promises."""

    boot_p50: Duration = Field(default=timedelta(seconds=45), alias="bootP50")
    boot_p90: Duration = Field(default=timedelta(seconds=60), alias="bootP90")
    save: Duration = timedelta(seconds=20)
    release: Duration = timedelta(seconds=10)
    stop_bound: Duration = timedelta(seconds=60)
    list_lag_bound: Duration | None = None


class Billing(Part):
    """How compute is charged."""

    increment: Duration = timedelta(seconds=1)
    minimum: Duration = timedelta(seconds=60)
    ends_at: BillingEnd = BillingEnd.STOPPED
    self_stop: SelfStop = SelfStop.ENDS_BILLING
    storage_rate: Rate | None = Field(default=Money(100_000), alias="storageUSDPerGiBMonth")

    @model_validator(mode="after")
    def _agree(self) -> Billing:
        if self.self_stop is SelfStop.ENDS_BILLING and self.ends_at is BillingEnd.TERMINATED:
            raise ValueError("a shutdown from inside can't end billing where billing ends only at termination")
        return self


class Manners(Part):
    """How the platform behaves; the names are those of the provider contract."""

    create_is_idempotent: bool = True
    attaches_at_launch: bool = False
    attaches_while_booting: bool = True
    disk_outlives_machine: bool = True
    size_granularity: ByteCount = Field(default=1024, ge=1)
    boot_form: BootForm = BootForm.BUNDLE
    boot_limit: ByteCount | None = None
    egress_policies: tuple[str, ...] = ("Open", "Deny", "AllowList")
    tools: tuple[str, ...] = ("SSH", "VSCode", "Jupyter")
    takes_own_images: bool = True


class Quotas(Part):
    """How much the account may hold at once; None is no limit."""

    machines: int | None = Field(default=None, ge=0)
    disks: int | None = Field(default=None, ge=0)


_US = ("us-1a", "us-1b")


def _default_zones() -> tuple[Zone, ...]:
    return (
        Zone(name="us-1a", region="us-1", region_class="us"),
        Zone(name="us-1b", region="us-1", region_class="us"),
        Zone(name="eu-1a", region="eu-1", region_class="eu"),
    )


def _cpu_line(cores: int, memory: str, rate: str) -> OfferLine:
    name = f"cpu-{cores}c-{memory[:-2].lower()}g-us"
    return OfferLine(id=name, instance_type=f"sim.c{cores}", zones=_US, cpu=cores, memory=quantity_units(memory), rate=Money.parse(rate))


def _h100_line(count: int, zones: tuple[str, ...], rate: str, spot: str = "") -> OfferLine:
    return OfferLine(
        id=f"h100-sxm-80g-x{count}-{zones[0][:2]}",
        instance_type=f"sim.h100x{count}",
        zones=zones,
        cpu=24 * count,
        memory=256 * 2**30 * count,
        gpu=Gpu(id="h100-sxm", family="h100", memory=80 * 2**30, count=count, nvlink=count > 1),
        rate=Money.parse(rate),
        spot_rate=Money.parse(spot) if spot else None,
    )


def _default_offers() -> tuple[OfferLine, ...]:
    l4 = Gpu(id="l4", family="l4", memory=24 * 2**30)
    return (
        _cpu_line(4, "16Gi", "0.20"),
        _cpu_line(8, "32Gi", "0.40"),
        OfferLine(id="l4-24g-x1-us", instance_type="sim.l4x1", zones=_US, cpu=8, memory=32 * 2**30, gpu=l4, rate=Money.parse("1.10")),
        _h100_line(1, _US, "4.40", "1.76"),
        _h100_line(8, _US, "35.20"),
        _h100_line(8, ("eu-1a",), "38.72"),
    )


class World(Part):
    """The whole of ``world.yaml``. ``account`` is the identity that owns what is made from now on."""

    account: str = "simulated"
    zones: tuple[Zone, ...] = Field(default_factory=_default_zones, min_length=1)
    offers: tuple[OfferLine, ...] = Field(default_factory=_default_offers)
    times: Times = Times()
    billing: Billing = Billing()
    manners: Manners = Manners()
    quotas: Quotas = Quotas()

    @model_validator(mode="after")
    def _zones_exist(self) -> World:
        known = {zone.name for zone in self.zones}
        for line in self.offers:
            if missing := sorted(set(line.zones) - known):
                raise ValueError(f"offer {line.id} names the zone {missing[0]}, which isn't under zones")
        return self

    def zone(self, name: str) -> Zone | None:
        """The zone of that name."""
        return next((zone for zone in self.zones if zone.name == name), None)

    def line(self, offer_id: str) -> OfferLine | None:
        """The offer line of that id."""
        return next((line for line in self.offers if line.id == offer_id), None)

    def location(self, zone: str) -> str:
        """Where a disk must be to be attached: account and zone."""
        return f"{self.account}/{zone}"

    @property
    def list_lag_bound(self) -> timedelta:
        """As the file says, else the contract's default: 120 s with idempotent creates, 10 min without."""
        return self.times.list_lag_bound or timedelta(seconds=120 if self.manners.create_is_idempotent else 600)
