"""Status parts that several kinds share: conditions, cost, estimate. All amounts are copies of the ledger for display."""

from __future__ import annotations

from typing import Any, Literal

from nodusctl.resources.fields import StatusModel, spec_field
from nodusctl.resources.scalars import Amount, Count, Duration, Flag, Time


class Condition(StatusModel):
    """One observation, as metav1.Condition."""

    type: str = spec_field("What is observed.", "")
    status: Literal["True", "False", "Unknown"] = spec_field("Whether it holds.", "Unknown")
    reason: str = spec_field("Cause for programs.", "")
    message: str = spec_field("The cause in a sentence.", "")
    last_transition_time: Time | None = spec_field("When status last changed.")
    observed_generation: Count | None = spec_field("The generation of the spec it was observed for.")


class CostSegments(StatusModel):
    """A charge by segment of its billing."""

    boot_usd: Amount | None = spec_field("From the start of billing until the program started.")
    running_usd: Amount | None = spec_field("While the program ran.")
    restore_usd: Amount | None = spec_field("Bringing up a replacement after capacity was lost.")
    teardown_usd: Amount | None = spec_field("From the stop to confirmed deletion, with the rest of the billing increment.")
    covered_by_nodus: tuple[str, ...] = spec_field("Segments somebody else paid for; always empty here.", ())


class Cost(StatusModel):
    """What an object has cost."""

    total_usd: Amount | None = spec_field("Charged so far.")
    held_usd: Amount | None = spec_field("Held for it now.")
    limit_usd: Amount | None = spec_field("Its maxCostUSD, where it has one.")
    rate_usd_per_hour: Amount | None = spec_field("Sum of the hourly rates of its capacity that is billing.")
    funded_until_time: Time | None = spec_field("When the holds stop paying for it.")
    final: Flag | None = spec_field("True once the last charge is posted.")
    by_segment: CostSegments | None = spec_field("The charge by segment.")


class UsdBand(StatusModel):
    """A median and a 90th percentile in USD."""

    p50: Amount | None = spec_field("Median.")
    p90: Amount | None = spec_field("90th percentile.")


class DurationBand(StatusModel):
    """A median and a 90th percentile of time."""

    p50: Duration | None = spec_field("Median.")
    p90: Duration | None = spec_field("90th percentile.")


class StartupEstimate(StatusModel):
    """How long a start takes."""

    cold: DurationBand | None = spec_field("A machine that must be made.")
    warm: DurationBand | None = spec_field("A machine that is there.")


class PlacementPreview(StatusModel):
    """The capacity a start would use."""

    offering: str | None = spec_field("Offering id.")
    region_class: str | None = spec_field("Region class of the offering.")
    interruptible: Flag | None = spec_field("Whether it can be taken back.")
    warm_reuse: Flag | None = spec_field("Whether a warm machine would be used again.")
    explain: Any = spec_field("Why this offering: scores, fallbacks and what was rejected.")


class BlockingReason(StatusModel):
    """Why a real apply would fail now."""

    code: str = spec_field("Registered reason.", "")
    message: str = spec_field("The reason with its amounts.", "")
    fix: str = spec_field("What to do.", "")


class EstimateWarning(StatusModel):
    """A remark that blocks nothing."""

    code: str = spec_field("Name of the remark.", "")
    message: str = spec_field("The remark in a sentence.", "")


class Estimate(StatusModel):
    """What an object would cost."""

    cost_usd: UsdBand | None = spec_field("Cost over the horizon.")
    overhead_usd: UsdBand | None = spec_field("The part of start, restore and teardown.")
    hold_usd: Amount | None = spec_field("First hold, which must fit every Budget and the object's own cap.")
    concurrent_hold_usd: Amount | None = spec_field("Holds of all slots that start at once.")
    gang_hold_usd: Amount | None = spec_field("Holds of all members of a multi-node job.")
    assembly_bound_usd: Amount | None = spec_field("Most a multi-node job costs if its members never meet.")
    minimum_charge_usd: Amount | None = spec_field("Rounding to the billing increment, once per allocation.")
    rate_usd_per_hour: Amount | None = spec_field("Hourly rate of the chosen capacity.")
    startup: StartupEstimate | None = spec_field("Expected time to start.")
    placement_preview: PlacementPreview | None = spec_field("The capacity it would use.")
    topology: Any = spec_field("Resolved layout of a multi-node job.")
    pricebook_version: str | None = spec_field("The price book that was used.")
    valid_until: Time | None = spec_field("When the prices stop being current.")
    blocking_reasons: tuple[BlockingReason, ...] | None = spec_field("Why a real apply would fail now.")
    warnings: tuple[EstimateWarning, ...] | None = spec_field("Remarks that block nothing.")


class ImageStatus(StatusModel):
    """The image in use."""

    digest: str | None = spec_field("Pinned digest.")
    reference: str | None = spec_field("Image as written.")
    user: str | None = spec_field("User its process runs as.")
