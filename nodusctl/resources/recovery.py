"""Recovery: how progress outlives a lost machine."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import PlainSerializer, PlainValidator

from nodusctl.base.durations import format_duration, parse_duration
from nodusctl.resources.fields import SpecModel, refuse, spec_field
from nodusctl.resources.scalars import Count, Duration, Quantity, Shape, Text, matching, quantity_between


def _read_interval(value: object) -> str:
    """``auto``, or a duration from 1m to 6h in its canonical spelling."""
    if value == "auto":
        return "auto"
    try:
        duration = parse_duration(value) if isinstance(value, str) else None
    except ValueError:
        duration = None
    if duration is None or not timedelta(minutes=1) <= duration <= timedelta(hours=6):
        raise refuse("Invalid", "A checkpoint interval is not readable.", "It is auto, or a duration from 1m to 6h.")
    return format_duration(duration)


Interval = Annotated[
    str, PlainValidator(_read_interval), PlainSerializer(str, return_type=str), Shape("auto or duration", {"type": "string"})
]
StatePath = Annotated[Text, matching(r"/[^\x00]{0,1023}", "an absolute path")]


class Checkpoint(SpecModel):
    """When and how progress is saved."""

    format: Literal["Snapshot", "Dcp"] = spec_field("Snapshot copies the paths; Dcp is torch.distributed.checkpoint.", "Snapshot")
    integration: Literal["Auto", "None", "HFTrainer"] = spec_field("Training library that is hooked.", "Auto")
    interval: Interval = spec_field("Time between checkpoints.", "auto", rule="auto, or 1m to 6h.")
    max_size: Annotated[Quantity, quantity_between(None, "2Ti")] = spec_field(
        "Largest checkpoint, checked before it is sent.", "1Ti", rule="At most 2Ti."
    )
    paths: tuple[StatePath, ...] = spec_field("Paths saved together.", ("/nodus/state",), rule="At most 64.", min_length=1, max_length=64)
    retain_after_finish: Duration = spec_field("How long checkpoints are kept after the end.", timedelta(hours=168))


class Recovery(SpecModel):
    """What happens when a machine is lost."""

    continuity: Literal["Checkpointed", "Restartable", "Ephemeral"] | None = spec_field(
        "Checkpointed goes on from the last checkpoint, Restartable from a cursor, Ephemeral from the start."
    )
    max_attempts: Count | None = spec_field("Replacements of lost machines.", rule="1 to 32.", ge=1, le=32)
    min_progress_duration: Duration = spec_field("Run time that counts as progress.", timedelta(minutes=2))
    on_interruption: Literal["Resume", "Fail"] | None = spec_field("Resume, or fail instead.")
    checkpoint: Checkpoint | None = spec_field("When and how progress is saved.")
