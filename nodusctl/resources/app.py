"""App: Functions that are deployed together."""

from __future__ import annotations

from typing import Annotated

from nodusctl.resources.fields import SpecModel, StatusModel, spec_field
from nodusctl.resources.scalars import Count, Flag, Text, Time, matching
from nodusctl.resources.status import Condition


class AppSource(SpecModel):
    """Where the code comes from."""

    blob: Annotated[Text, matching(r"sha256:[0-9a-f]{64}", "sha256: and 64 hex digits")] | None = spec_field(
        "Archive of the code, named by its content."
    )


class AppSpec(SpecModel):
    """What the owner wants."""

    description: Text | None = spec_field("A note.", rule="At most 1 KiB.", max_length=1024)
    ephemeral: Flag | None = spec_field("Lives only as long as its client renews it.")
    renew_time: Time | None = spec_field("When an ephemeral App was last renewed.")
    source: AppSource | None = spec_field("Where the code comes from.")


class AppMembers(StatusModel):
    """Members by kind."""

    functions: Count = spec_field("Functions of the App.", 0)
    ready: Count = spec_field("Members that accept work.", 0)


class AppStatus(StatusModel):
    """What was observed."""

    version: Count | None = spec_field("Rises with each deploy.")
    members: AppMembers | None = spec_field("Members by kind.")
    conditions: tuple[Condition, ...] | None = spec_field("Latest observations.")
    observed_generation: Count | None = spec_field("The generation of the spec this status reflects.")
