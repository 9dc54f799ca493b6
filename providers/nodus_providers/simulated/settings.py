"""Settings of a simulated provider in the project file: ``sim: {type: simulated, world: world.yaml}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError


class SimulatedSettings(BaseModel):
    """What a person may set. ``world`` is relative to the project file; a missing file means the default world."""

    model_config = ConfigDict(frozen=True, extra="forbid", title="Simulated provider")

    world: str = Field(default="world.yaml", min_length=1, description="World file: zones, offers, times, billing, manners, quotas.")


def read_settings(instance: str, settings: Mapping[str, Any]) -> SimulatedSettings:
    """UserError with a diagnostic for each fault."""
    try:
        return SimulatedSettings.model_validate({key: value for key, value in settings.items() if key != "type"})
    except ValidationError as problem:
        faults = (
            error(
                "Invalid",
                "A setting of a simulated provider is wrong",
                f"{fault['msg']}.",
                "Known settings: world.",
                field=".".join(("providers", instance, *map(str, fault["loc"]))),
            )
            for fault in problem.errors()
        )
        raise UserError(*faults) from None
