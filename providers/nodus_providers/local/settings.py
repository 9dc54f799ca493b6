"""Settings of a local provider in the project file. Imported on first use: pydantic is slow to load."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, IPvAnyAddress, field_validator

from nodusctl.base.money import Money
from nodusctl.base.quantities import parse_quantity

_DECIMAL = r"[0-9]+(\.[0-9]{1,6})?"


class LocalSettings(BaseModel):
    """All optional: without any, this computer is offered whole, free of charge."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    rateUSDPerHour: str | None = Field(None, pattern=f"^{_DECIMAL}$", description="What an hour of a machine costs, a decimal string.")  # noqa: N815
    watts: str | None = Field(None, pattern=f"^{_DECIMAL}$", description="Power under load; with usdPerKwh it gives the rate.")
    usdPerKwh: str | None = Field(None, pattern=f"^{_DECIMAL}$", description="Price of electricity, a decimal string.")  # noqa: N815
    root: str | None = Field(None, description="Folder of machines and homes; default: under the user's data folder.")
    cpu: str | int | None = Field(None, description="Cores to offer; default: all of this computer.")
    memory: str | int | None = Field(None, description="Memory to offer; default: all of this computer.")
    hostId: str | None = Field(  # noqa: N815
        None,
        pattern=r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$",
        description="A name for this computer in offers; default: from its machine id.",
    )
    sshd: str | None = Field(None, description="Path of sshd; default: searched on PATH and in the system's folders.")
    jupyter: str | None = Field(
        None, description="Path of jupyter-lab; default: beside the Python that runs nodusctl, then searched on PATH."
    )
    codeServer: str | None = Field(  # noqa: N815
        None, description="Path of code-server; default: as `nodusctl tools install code-server` put it, then searched on PATH."
    )
    isolation: Literal["auto", "required", "off"] = Field(
        "auto", description="Sandboxes: auto uses them where this computer can and says where it can't, required refuses to start without."
    )
    egressAddresses: Mapping[str, IPvAnyAddress] = Field(  # noqa: N815
        {}, strict=False, description="Addresses of names in egress.allow that don't resolve to a public address, such as a mirror's."
    )
    programs: tuple[str, ...] = Field((), strict=False, description="More folders to search for programs.")

    @field_validator("cpu", "memory")
    @classmethod
    def _is_quantity(cls, value: str | int | None) -> str | int | None:
        if value is not None and parse_quantity(value) <= 0:
            raise ValueError("a quantity above zero, such as 4 or 16Gi")
        return value

    def rate(self) -> Money | None:
        """The configured price of an hour: given, or power times its price; None where neither is set."""
        if self.rateUSDPerHour is not None:
            return Money.parse(self.rateUSDPerHour)
        if self.watts is not None and self.usdPerKwh is not None:
            return Money.from_fraction(Fraction(self.watts) / 1000 * Fraction(self.usdPerKwh))
        return None
