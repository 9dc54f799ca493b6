"""Offering: a class of machine that can be had. Written by the program only; this is how it is shown."""

from __future__ import annotations

from nodusctl.resources.fields import REQUIRED, SpecModel, StatusModel, spec_field
from nodusctl.resources.scalars import Amount, Count, Flag, Quantity, Text, Time
from nodusctl.resources.status import DurationBand


class OfferingAccelerator(SpecModel):
    """Its accelerators."""

    id: Text = spec_field("Variant, such as H100-SXM.", REQUIRED)
    family: Text = spec_field("Family, such as H100.", REQUIRED)
    vendor: Text = spec_field("Who makes it.", REQUIRED)
    memory: Quantity = spec_field("Memory of one.", REQUIRED)
    count: Count | None = spec_field("How many in one machine.")


class OfferingHost(SpecModel):
    """The machine around them."""

    cpu: Quantity = spec_field("vCPUs.", REQUIRED)
    memory: Quantity = spec_field("Memory.", REQUIRED)
    disk: Quantity | None = spec_field("Local disk, where it is known.")


class OfferingSpec(SpecModel):
    """What it is."""

    accelerator: OfferingAccelerator | None = spec_field("Its accelerators, where it has any.")
    host: OfferingHost = spec_field("The machine around them.", REQUIRED)
    region_class: Text | None = spec_field("Region class.")
    interruptible: Flag | None = spec_field("Whether it can be taken back.")


class OfferingPrice(StatusModel):
    """Its hourly price; a missing amount is unknown, never 0."""

    from_: Amount | None = spec_field("Cheapest known.")
    typical: Amount | None = spec_field("Median of those known.")


class OfferingStatus(StatusModel):
    """What is known of it now."""

    availability: str | None = spec_field("Available, Limited or Unavailable.")
    price: OfferingPrice | None = spec_field("Hourly price in USD.")
    startup: DurationBand | None = spec_field("Time to start.")
    observed_time: Time | None = spec_field("When this was learnt.")
