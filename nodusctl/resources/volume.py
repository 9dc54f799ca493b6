"""Volume: a disk whose content is kept in revisions. It is made where its first Attempt is placed, and is free till then."""

from __future__ import annotations

from typing import Annotated, Literal

from nodusctl.resources.fields import SpecModel, StatusModel, spec_field
from nodusctl.resources.mutability import Mutability
from nodusctl.resources.scalars import Amount, Count, Quantity, Text, Time, matching, quantity_between
from nodusctl.resources.status import Condition


class VolumeSpec(SpecModel):
    """What the owner wants."""

    access_mode: Literal["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"] = spec_field(
        "Who may mount it, and how.", "ReadWriteOnce", mut=Mutability.IMMUTABLE
    )
    size: Annotated[Quantity, quantity_between("1Gi", None)] = spec_field(
        "Size; it grows in place.", "50Gi", rule="At least 1Gi; never smaller.", mut=Mutability.GROW_ONLY
    )
    revision_history_limit: Count = spec_field("Revisions that are kept.", 10, rule="1 to 100.", ge=1, le=100)
    deletion_policy: Literal["Retain", "Delete"] = spec_field(
        "Retain keeps the content when the object is removed from the files.", "Retain"
    )
    location: Annotated[Text, matching(r"[a-zA-Z0-9][-a-zA-Z0-9_./]*", "a provider's instance and place")] | None = spec_field(
        "Where it must be made; left out, where its first machine is placed.", mut=Mutability.IMMUTABLE
    )


class VolumeHolder(StatusModel):
    """Who has the right to write."""

    kind: str | None = spec_field("Kind of the owner.")
    name: str | None = spec_field("Name of the owner.")
    attempt: str | None = spec_field("Its Attempt.")
    epoch: Count | None = spec_field("The fence of the Attempt.")


class VolumeStorage(StatusModel):
    """What is stored."""

    location: str | None = spec_field("Where it is.")
    size: str | None = spec_field("Size at the provider.")


class VolumeCost(StatusModel):
    """What its disk costs."""

    total_usd: Amount | None = spec_field("Charged so far: up to the last growth or end of a month.")
    so_far_usd: Amount | None = spec_field("What has come since, charged at the end of the month.")
    rate_usd_per_gib_month: str | None = spec_field(
        "USD per GiB-month, frozen when the disk was made or grown; unknown where nobody wrote it down."
    )
    note: str | None = spec_field("Why nothing is charged, where that is for want of a price.")


class VolumeStatus(StatusModel):
    """What was observed."""

    phase: Literal["Pending", "Ready", "Failed"] | None = spec_field("Pending until the first machine that needs it.")
    reason: str | None = spec_field("Cause of the phase for programs.")
    message: str | None = spec_field("The phase in a sentence.")
    conditions: tuple[Condition, ...] | None = spec_field("Latest observations.")
    revision: Count | None = spec_field("Latest revision; 0 before the first.")
    last_commit_time: Time | None = spec_field("When the latest revision was made.")
    used: str | None = spec_field("Size of the latest revision.")
    holder: VolumeHolder | None = spec_field("Who has the right to write.")
    readers: Count | None = spec_field("Attempts that mount it read-only.")
    storage: VolumeStorage | None = spec_field("What is stored.")
    cost: VolumeCost | None = spec_field("What its disk costs; left out where it is free.")
    observed_generation: Count | None = spec_field("The generation of the spec this status reflects.")
