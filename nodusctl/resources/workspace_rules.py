"""Rules between the fields of a Workspace, and those relative to now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from nodusctl.base.timestamps import format_time
from nodusctl.resources.defaults import WORKSPACE_IMAGES
from nodusctl.resources.faulting import Fault
from nodusctl.resources.shared_rules import Spec, catalog_image, machine_rules, mapping_at, time_of, unique

_SCHEDULE_LEAD = timedelta(minutes=15)


def workspace_rules(spec: Spec, annotations: Mapping[str, str]) -> Iterator[Fault]:
    """All of them but those relative to now."""
    yield from _home(spec)
    yield from _schedule_order(spec)
    yield from machine_rules(spec, annotations, "A Workspace is one machine.")
    yield from catalog_image(spec, WORKSPACE_IMAGES)
    yield from unique(spec, "sshKeys")
    yield from unique(spec, "tools")


def _home(spec: Spec) -> Iterator[Fault]:
    volume, ephemeral = ("spec", "volume"), ("spec", "ephemeral")
    has_volume, is_ephemeral = spec.get("volume") is not None, spec.get("ephemeral") is True
    if has_volume and is_ephemeral:
        yield Fault(
            reason="Invalid",
            summary="A Workspace has both a home Volume and none.",
            detail="Exactly one of volume and ephemeral: true is written.",
            fix="Remove one of the two.",
            paths=(volume, ephemeral),
        )
    elif not has_volume and spec.get("ephemeral", False) is False:
        yield Fault(
            reason="FieldValueRequired",
            summary="A Workspace has no home.",
            detail="spec has neither 'volume' nor 'ephemeral: true'; exactly one of them is written.",
            fix="Add volume: NAME to keep the files, or ephemeral: true to lose them at the stop.",
            paths=(volume,),
        )


def _schedule_order(spec: Spec) -> Iterator[Fault]:
    schedule = mapping_at(spec, "schedule")
    ready, stop = ("spec", "schedule", "readyBy"), ("spec", "schedule", "stopAt")
    if "schedule" in spec and schedule == {} and isinstance(spec["schedule"], dict):
        yield Fault(
            reason="FieldValueRequired",
            summary="A schedule is empty.",
            detail="spec.schedule has neither 'readyBy' nor 'stopAt'.",
            fix="Write at least one.",
            paths=(ready,),
        )
    ready_by, stop_at = time_of(schedule.get("readyBy")), time_of(schedule.get("stopAt"))
    if ready_by is not None and stop_at is not None and stop_at <= ready_by:
        yield Fault(
            reason="Invalid", summary="A schedule ends before it begins.", detail="stopAt is later than readyBy.", paths=(ready, stop)
        )


def workspace_clock_rules(spec: Spec, now: datetime, before: Spec | None) -> Iterator[Fault]:
    """readyBy lies ahead; a value equal to the one in ``before`` (the state's spec) is old and stays valid."""
    ready_by = time_of(mapping_at(spec, "schedule").get("readyBy"))
    if ready_by is None or ready_by >= now + _SCHEDULE_LEAD:
        return
    if before is not None and time_of(mapping_at(before, "schedule").get("readyBy")) == ready_by:
        return
    detail = f"It is {format_time(now)}; when it is written, readyBy is {format_time(now + _SCHEDULE_LEAD)} or later."
    yield Fault(
        reason="Invalid",
        summary="A schedule begins too soon.",
        detail=detail,
        fix="Write a later readyBy.",
        paths=(("spec", "schedule", "readyBy"),),
    )
