"""Pool: machines of your own that placement.pool can name."""

from __future__ import annotations

from typing import Annotated

from nodusctl.resources.fields import SpecModel, StatusModel, spec_field
from nodusctl.resources.scalars import Amount, Count, Name, Text, matching

HostName = Annotated[Text, matching(r"[^\s]{1,512}", "a host or a connection address without spaces")]


class PoolSpec(SpecModel):
    """What belongs to the Pool."""

    providers: tuple[Name, ...] | None = spec_field("Provider instances of the project file whose machines belong to it.")
    hosts: tuple[HostName, ...] | None = spec_field("Single hosts of those providers.")
    rate_usd_per_hour: Amount | None = spec_field("What an hour of one machine costs you; left out, the provider's own setting.")


class PoolStatus(StatusModel):
    """What was observed."""

    observed_generation: Count | None = spec_field("The generation of the spec this status reflects.")
