"""The next step of a Volume: its disk is made by the first start, so what is left is to restore, grow, prune, charge it and go."""

from __future__ import annotations

from nodusctl.base.quantities import quantity_units
from nodusctl.lifecycle.homes import next_prune, next_restore
from nodusctl.lifecycle.pacing import retried
from nodusctl.lifecycle.settling import settle
from nodusctl.lifecycle.situation import HomeVolume, Situation
from nodusctl.lifecycle.steps import DeleteDisk, GiveUp, GrowDisk, Mark, MarkKind, Step, Wait
from nodusctl.lifecycle.wanted import is_asked
from nodusctl.state.requests import PRUNE_REQUEST
from nodusctl.state.status import VolumeStanding


def next_volume_step(situation: Situation) -> Step | Wait | GiveUp | None:
    """The step that is due for a Volume."""
    if situation.intents:
        return settle(situation, situation.intents[0])
    standing = situation.status.volume or VolumeStanding()
    if situation.record.deletion_requested_at is not None:
        return _next_while_going(situation, standing)
    due = standing.storage.month_ends if standing.storage is not None else None
    if due is not None and due <= situation.now:
        return Mark(what=MarkKind.POST_STORAGE, because="a UTC month of its storage is over")
    restore = next_restore(situation)
    if restore is not None:
        return restore
    size_bytes = quantity_units(str(situation.record.spec.get("size", "50Gi")))
    if standing.disk_id and size_bytes > standing.size_bytes:
        return retried(situation, "grow", GrowDisk(size_bytes=size_bytes, because="its size was raised"), "growing the disk")
    return _next_of_revisions(situation)


def _next_of_revisions(situation: Situation) -> Step | GiveUp | None:
    drop = next_prune(situation, HomeVolume(record=situation.record, status=situation.status))
    if drop is not None:
        return drop
    wants_pruning = is_asked(situation, PRUNE_REQUEST)
    if wants_pruning and situation.failed_times("delete-revision"):
        return GiveUp(code="ProviderNotReady", because=f"a revision could not be dropped: {situation.sightings.asked_in_vain}")
    if wants_pruning or situation.status.observed_generation != situation.record.generation:
        return Mark(what=MarkKind.SETTLE_SPEC, because="the new spec needs nothing outside")
    return None


def _next_while_going(situation: Situation, standing: VolumeStanding) -> Step | Wait | GiveUp:
    if standing.holder is not None:
        return GiveUp(code="VolumeBusy", because=f"{standing.holder.address} still holds it")
    if not standing.disk_id:
        return Mark(what=MarkKind.REMOVE, because="nothing of it is left outside")
    return retried(situation, "delete-disk", DeleteDisk(because="the owner deletes it"), "deleting the disk")
