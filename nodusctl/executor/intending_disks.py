"""Intents about disks: those of a home, made for its Workspace, and those of a Volume that is itself the object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodusctl.attempts.intents import Intent, StepKind
from nodusctl.base.money import Money
from nodusctl.base.quantities import quantity_units
from nodusctl.executor.intended import HOME_MOUNT, Intended, attempt_of, machine_id_of, ownership, plain
from nodusctl.executor.outside import Outside
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import (
    AttachHome,
    CreateDisk,
    DeleteDisk,
    DetachHome,
    DropEmptyDisk,
    DropRevision,
    GrowDisk,
    RestoreDisk,
    SaveHome,
)
from nodusctl.state.status import VolumeStanding

STORAGE_RATE = "storage_usd_per_gib_month"
"""Under this name a request keeps the price of its disk; no provider is told."""


def create_disk(outside: Outside, situation: Situation, step: CreateDisk) -> Intended:
    """The home's disk, where the machine will be tried."""
    assert situation.home is not None
    size_bytes = quantity_units(str(situation.home.record.spec.get("size", "50Gi")))
    request = {
        "name": f"nodus-{situation.home.record.address.name}-{situation.home.record.uid[:8]}",
        "offer_key": step.terms.offer_key,
        "zone": step.terms.zone,
        "location": step.terms.location,
        "size_bytes": size_bytes,
        "tags": dict(ownership(outside, situation, of_home=True).tags()),
        STORAGE_RATE: _text(step.terms.storage_usd_per_gib_month),
    }
    # Each refused or absent try counts, so that no two disks of one Attempt are ever asked for under one token.
    target, try_number = situation.home.record.uid, len(attempt_of(situation).refusals) + 1
    return plain(
        outside, situation, StepKind.CREATE_DISK, provider=step.terms.provider, request=request, target=target, try_number=try_number
    )


def drop_disk(outside: Outside, situation: Situation, step: DropEmptyDisk) -> Intended:
    """A disk that never held anything goes again."""
    return _on_home_disk(outside, situation, StepKind.DELETE_DISK, {})


def attach(outside: Outside, situation: Situation, step: AttachHome) -> Intended:
    """The home to its machine."""
    return _on_home_disk(outside, situation, StepKind.ATTACH, {"machine_id": machine_id_of(situation), "mount_path": HOME_MOUNT})


def detach(outside: Outside, situation: Situation, step: DetachHome) -> Intended:
    """And from it."""
    return _on_home_disk(outside, situation, StepKind.DETACH, {"machine_id": machine_id_of(situation)})


def save(outside: Outside, situation: Situation, step: SaveHome) -> Intended:
    """The next revision of the home."""
    return _on_home_disk(outside, situation, StepKind.SAVE, {"number": step.number})


def drop_revision(outside: Outside, situation: Situation, step: DropRevision) -> Intended:
    """On the home of a Workspace, or on the Volume that is itself the object."""
    extra = {"revision_id": step.revision_id, "number": step.number}
    if situation.home is not None:
        return _on_home_disk(outside, situation, StepKind.DELETE_REVISION, extra)
    return _on_volume(outside, situation, StepKind.DELETE_REVISION, extra)


def restore(outside: Outside, situation: Situation, step: RestoreDisk) -> Intended:
    """The disk made equal to one of its revisions."""
    # The request's time is part of what is asked, so that restoring a revision again is another call under another token.
    extra = {"revision_id": step.revision_id, "number": step.number, "asked": step.asked}
    return _on_volume(outside, situation, StepKind.RESTORE, extra)


def grow(outside: Outside, situation: Situation, step: GrowDisk) -> Intended:
    """The disk grown in place, at the price its last plan showed; where that knew none, at the one it has."""
    stretch, rate = (situation.status.volume or VolumeStanding()).storage, situation.record.storage_usd_per_gib_month
    if rate is None and stretch is not None:
        rate = stretch.usd_per_gib_month
    return _on_volume(outside, situation, StepKind.GROW, {"size_bytes": step.size_bytes, STORAGE_RATE: _text(rate)})


def delete_disk(outside: Outside, situation: Situation, step: DeleteDisk) -> Intended:
    """The disk of a Volume, with what it holds."""
    return _on_volume(outside, situation, StepKind.DELETE_DISK, {})


def storage_rate(intent: Intent) -> Money | None:
    """USD per GiB-month of a disk that is made or grown, as it was frozen with the intent; None where nobody knew it."""
    text = intent.request.get(STORAGE_RATE)
    return Money.parse(str(text)) if text else None


def _text(rate: Money | None) -> str:
    return "" if rate is None else str(rate)


def _on_home_disk(outside: Outside, situation: Situation, kind: StepKind, extra: Mapping[str, Any]) -> Intended:
    assert situation.home is not None
    standing = situation.home.standing
    request = {"disk_id": standing.disk_id, **extra}
    return plain(outside, situation, kind, provider=standing.provider, request=request, target=situation.home.record.uid)


def _on_volume(outside: Outside, situation: Situation, kind: StepKind, extra: Mapping[str, Any]) -> Intended:
    standing = situation.status.volume
    assert standing is not None, "only a Volume with a disk comes here"
    request = {"disk_id": standing.disk_id, **extra}
    return plain(outside, situation, kind, provider=standing.provider, request=request, target=situation.uid)
