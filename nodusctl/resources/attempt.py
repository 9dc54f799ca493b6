"""Attempt: one period of capacity that filled one slot of an owner. Written by the program only; this is how it is shown."""

from __future__ import annotations

from typing import Any, Literal

from nodusctl.resources.fields import REQUIRED, SpecModel, StatusModel, spec_field
from nodusctl.resources.scalars import Amount, Count, Flag, Text, Time


class AttemptSpec(SpecModel):
    """Which slot it fills."""

    slot: Text = spec_field("0 for a Workspace, the worker slot of a Function.", REQUIRED)
    epoch: Count = spec_field("Fence: one more for each Attempt of the slot, for ever.", REQUIRED)


class AttemptTimings(StatusModel):
    """The moments of its life."""

    queued_time: Time | None = spec_field("When it was written.")
    acquired_time: Time | None = spec_field("When the provider accepted the launch.")
    billing_start_time: Time | None = spec_field("When the provider began to bill.")
    registered_time: Time | None = spec_field("First login that was verified.")
    command_started_time: Time | None = spec_field("When the tools answered.")
    finished_time: Time | None = spec_field("End of billing.")
    deletion_proven_time: Time | None = spec_field("When the end was learnt.")
    boot_seconds: Count | None = spec_field("From acceptance to the start of the program.")
    restore_seconds: Count | None = spec_field("bootSeconds of an Attempt that went on from a saved state.")
    teardown_seconds: Count | None = spec_field("From the stop to confirmed deletion.")


class AttemptPlacement(StatusModel):
    """Where it was placed, and why there."""

    offering: str | None = spec_field("Offering id.")
    region_class: str | None = spec_field("Region class of the offering.")
    rate_usd_per_hour: Amount | None = spec_field("Hourly rate, frozen.")
    interruptible: Flag | None = spec_field("Whether it can be taken back.")
    profile: str | None = spec_field("Placement profile.")
    candidates: Count | None = spec_field("Approved offers it was chosen from.")
    explain: Any = spec_field("Scores of the approved offers, fallbacks not tried yet, and at most 20 refused tries.")


class AttemptPredicted(StatusModel):
    """What the plan expected."""

    cost_usd: Amount | None = spec_field("Expected cost.")
    hours: str | None = spec_field("Expected run time in decimal hours.")
    interruption_rate: str | None = spec_field("Expected interruptions per hour.")


class AttemptSegments(StatusModel):
    """The charge by segment; they add up exactly."""

    boot_usd: Amount | None = spec_field("From the start of billing until the program started.")
    running_usd: Amount | None = spec_field("While the program ran.")
    restore_usd: Amount | None = spec_field("Bringing up a replacement.")
    teardown_usd: Amount | None = spec_field("From the stop to confirmed deletion.")


class AttemptActual(StatusModel):
    """What it cost."""

    cost_usd: Amount | None = spec_field("The charge.")
    hours: str | None = spec_field("Billed time in decimal hours.")
    segments: AttemptSegments | None = spec_field("The charge by segment.")


class AttemptInterruption(StatusModel):
    """How it was lost."""

    trigger: str | None = spec_field("What told us.")
    time: Time | None = spec_field("When.")
    lost_seconds: Count | None = spec_field("Work lost since the last save.")
    recovery_seconds: Count | None = spec_field("Time until the next Attempt's program started.")


class AttemptStatus(StatusModel):
    """What was observed."""

    phase: Literal["Queued", "Provisioning", "Running", "Succeeded", "Failed", "Cancelled"] | None = spec_field("Where it is in its life.")
    reason: str | None = spec_field("Why it failed or was cancelled.")
    timings: AttemptTimings | None = spec_field("The moments of its life.")
    placement: AttemptPlacement | None = spec_field("Where it was placed.")
    predicted: AttemptPredicted | None = spec_field("What the plan expected.")
    actual: AttemptActual | None = spec_field("What it cost.")
    interruption: AttemptInterruption | None = spec_field("How it was lost.")
    superseded_by: str | None = spec_field("The next Attempt of the slot.")
