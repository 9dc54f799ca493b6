"""Secret: named values that are written and never shown.

The surprise: this model is what is *kept*, so ``data`` and ``stringData`` map each key to an empty text. The values leave the
document before validation and travel apart (``secret_material``).
"""

from __future__ import annotations

from typing import Literal

from nodusctl.resources.fields import SpecModel, StatusModel, spec_field
from nodusctl.resources.fragments import EnvName, SecretKeyName
from nodusctl.resources.mutability import Mutability
from nodusctl.resources.scalars import Count, Text, Time


class SecretValueSource(SpecModel):
    """Where one value is read at apply time."""

    env: EnvName | None = spec_field("Environment variable of the person who applies.", rule="Exactly one of env, file and command.")
    file: Text | None = spec_field("File, relative to the project.", rule="Exactly one of env, file and command.", min_length=1)
    command: tuple[Text, ...] | None = spec_field(
        "Program and arguments; its output, without a last line break, is the value.", min_length=1
    )


class SecretSpec(SpecModel):
    """What is written."""

    type: Literal["Opaque", "Registry"] = spec_field("Registry holds the login of an image registry.", "Opaque", mut=Mutability.IMMUTABLE)
    data: dict[SecretKeyName, str] | None = spec_field("Key to base64 value. Write-only: a write makes a new version.")
    string_data: dict[SecretKeyName, str] | None = spec_field("Key to value as text, over data. Write-only.")
    value_from: dict[SecretKeyName, SecretValueSource] | None = spec_field("Key to where its value is read at apply time.")


class SecretVersion(StatusModel):
    """One version."""

    version: Count = spec_field("Number, from 1.", 1)
    create_time: Time | None = spec_field("When it was written.")
    created_by: str | None = spec_field("Who wrote it.")
    keys: tuple[str, ...] | None = spec_field("Its key names.")


class SecretStatus(StatusModel):
    """What was observed; key names only."""

    phase: Literal["Pending", "Ready", "Failed"] | None = spec_field("Ready once a version is kept.")
    reason: str | None = spec_field("Why it failed.")
    version: Count | None = spec_field("Current version; new Attempts pin it.")
    versions: tuple[SecretVersion, ...] | None = spec_field("Latest versions, newest first.")
    keys: tuple[str, ...] | None = spec_field("Key names of the current version.")
    last_used_time: Time | None = spec_field("When it was last given to an Attempt.")
    observed_generation: Count | None = spec_field("The generation of the spec this status reflects.")
