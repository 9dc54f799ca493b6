"""Revisions of disks: save, restore and delete, and the half saves that never count.

A save is of a quiet disk: attached to a running machine that wasn't quiesced, it is refused. It takes the world's save time, and goes on
whether or not anyone asks; asking again with its token tells how far it is, or takes a failed one up again.
"""

from __future__ import annotations

import json
from dataclasses import replace

from nodus_providers.simulated.database import Transaction
from nodus_providers.simulated.disks import ready_disk
from nodus_providers.simulated.effects import Gone, Partial
from nodus_providers.simulated.gate import Effects
from nodus_providers.simulated.instants import span_micro
from nodus_providers.simulated.rows import DiskRow, MachineRow, RevisionRow, TokenRow
from nodus_providers.simulated.timeline import Due, advance, remind
from nodus_providers.simulated.views import revision_view, shown_disk
from nodus_providers.simulated.world import World
from nodusctl.base.canonical import digest
from nodusctl.provider.machines import Disk, MachineState, Revision, RevisionState
from nodusctl.provider.replies import Done, Refused, Reply, Scope, Unknown
from nodusctl.provider.requests import DeleteRevisionRequest, RestoreRequest, SaveRequest


def save(tx: Transaction, world: World, request: SaveRequest, effects: Effects) -> Reply[Revision]:
    """Begin, go on with or report a revision."""
    disk = ready_disk(tx, world, request.disk_id)
    if disk is None or effects.first(Gone):
        return Refused("NotFound", Scope.REQUEST, f"there is no disk {request.disk_id}")
    earlier = tx.row(RevisionRow, "token = ?", request.token)
    if earlier is not None:
        if earlier.request_digest != _digest(request):
            return Refused("IdempotencyKeyReused", Scope.REQUEST, "this client token was used for another revision")
        if earlier.state != RevisionState.FAILED:
            return Done(revision_view(earlier))
    if refusal := _unsavable(tx, request, disk):
        return refusal
    revision_id = earlier.id if earlier else f"r-{tx.next_number('revision'):06d}"
    revision = _new_revision(tx, world, request, disk=disk, revision_id=revision_id, partial=effects.first(Partial))
    tx.put(revision)
    if revision.state == RevisionState.SAVING:
        remind(tx, revision.ready_at, Due.SAVE, revision.id)
    advance(tx, world, tx.now)
    return Done(revision_view(tx.rows(RevisionRow, "id = ?", revision.id)[0]))


def restore(tx: Transaction, world: World, request: RestoreRequest, effects: Effects) -> Reply[Disk]:
    """Make the live content equal to a ready revision's, at once; no revision is touched."""
    disk = ready_disk(tx, world, request.disk_id)
    revision = tx.row(RevisionRow, "id = ? AND disk_id = ?", request.revision_id, request.disk_id)
    if disk is None or revision is None or effects.first(Gone):
        return Refused("NotFound", Scope.REQUEST, f"there is no revision {request.revision_id} of {request.disk_id}")
    if revision.state != RevisionState.READY:
        return Refused("Invalid", Scope.REQUEST, f"revision {revision.number} is {revision.state}, not ready")
    if world.manners.disk_outlives_machine and _is_in_use(tx, disk):
        return Refused("VolumeBusy", Scope.REQUEST, f"the disk {disk.id} is in use by {disk.attached_to}")
    tx.put(TokenRow(token=request.token, operation="restore", request_digest="", kind="disk", subject=disk.id))
    if partial := effects.first(Partial):
        tx.put(replace(disk, content=json.dumps([f"half of {revision.id}"])))
        return Unknown(f"the connection was lost after {partial.percent} % of the revision")
    disk = replace(disk, content=revision.content)
    tx.put(disk)
    return Done(shown_disk(tx, world, disk, effects))


def delete(tx: Transaction, world: World, request: DeleteRevisionRequest, effects: Effects) -> Reply[Disk]:
    """Delete one revision; the disk's live content and its other revisions stay."""
    disk = ready_disk(tx, world, request.disk_id)
    revision = tx.row(RevisionRow, "id = ? AND disk_id = ?", request.revision_id, request.disk_id)
    if disk is None or revision is None or effects.first(Gone):
        return Refused("NotFound", Scope.REQUEST, f"there is no revision {request.revision_id} of {request.disk_id}")
    tx.put(TokenRow(token=request.token, operation="revision-delete", request_digest="", kind="disk", subject=disk.id))
    tx.execute("DELETE FROM revision WHERE id = ?", revision.id)
    return Done(shown_disk(tx, world, disk, effects))


def content_of(tx: Transaction, disk_id: str) -> tuple[str, ...]:
    """The sessions that a disk's live content holds, oldest first; empty for none."""
    disk = tx.row(DiskRow, "id = ?", disk_id)
    return () if disk is None else tuple(json.loads(disk.content))


def _unsavable(tx: Transaction, request: SaveRequest, disk: DiskRow) -> Refused | None:
    same_number = tx.rows(RevisionRow, "disk_id = ? AND number = ? AND token != ?", disk.id, request.number, request.token)
    if any(revision.state != RevisionState.FAILED for revision in same_number):
        return Refused("AlreadyExists", Scope.REQUEST, f"the disk {disk.id} has a revision {request.number}")
    if _is_in_use(tx, disk):
        return Refused("VolumeBusy", Scope.REQUEST, f"the disk {disk.id} is in use by {disk.attached_to}; quiesce it first")
    return None


def _is_in_use(tx: Transaction, disk: DiskRow) -> bool:
    machine = tx.row(MachineRow, "id = ?", disk.attached_to)
    return machine is not None and machine.state == MachineState.RUNNING and not machine.is_quiet and not disk.is_read_only


def _new_revision(
    tx: Transaction, world: World, request: SaveRequest, *, disk: DiskRow, revision_id: str, partial: Partial | None
) -> RevisionRow:
    is_half = partial is not None and partial.percent < 100
    return RevisionRow(
        id=revision_id,
        disk_id=disk.id,
        number=request.number,
        token=request.token,
        request_digest=_digest(request),
        state=RevisionState.FAILED if is_half else RevisionState.SAVING,
        content=disk.content,
        size_bytes=disk.size_bytes * partial.percent // 100 if partial else disk.size_bytes,
        ready_at=tx.now + span_micro(world.times.save),
        reason=f"only {partial.percent} % was copied" if partial and is_half else "",
    )


def _digest(request: SaveRequest) -> str:
    return digest([request.disk_id, request.number])
