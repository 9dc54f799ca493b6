"""The next step of a Volume: its disk is made by the first start, so all that is left is to grow and to go."""

from __future__ import annotations

from nodusctl.base.quantities import quantity_units
from nodusctl.lifecycle.pacing import retried
from nodusctl.lifecycle.settling import settle
from nodusctl.lifecycle.situation import Situation
from nodusctl.lifecycle.steps import DeleteDisk, GiveUp, GrowDisk, Mark, MarkKind, Step, Wait
from nodusctl.state.status import VolumeStanding


def next_volume_step(situation: Situation) -> Step | Wait | GiveUp | None:
    """The step that is due for a Volume."""
    if situation.intents:
        return settle(situation, situation.intents[0])
    standing = situation.status.volume or VolumeStanding()
    if situation.record.deletion_requested_at is not None:
        return _next_while_going(situation, standing)
    size_bytes = quantity_units(str(situation.record.spec.get("size", "50Gi")))
    if standing.disk_id and size_bytes > standing.size_bytes:
        return retried(situation, "grow", GrowDisk(size_bytes=size_bytes, because="its size was raised"), "growing the disk")
    if situation.status.observed_generation != situation.record.generation:
        return Mark(what=MarkKind.SETTLE_SPEC, because="the new spec needs nothing outside")
    return None


def _next_while_going(situation: Situation, standing: VolumeStanding) -> Step | Wait | GiveUp:
    if standing.holder is not None:
        return GiveUp(code="VolumeBusy", because=f"{standing.holder.address} still holds it")
    if not standing.disk_id:
        return Mark(what=MarkKind.REMOVE, because="nothing of it is left outside")
    return retried(situation, "delete-disk", DeleteDisk(because="the owner deletes it"), "deleting the disk")
