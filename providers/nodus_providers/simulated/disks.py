"""Disks of the world: make, attach, detach, grow, delete. Each function runs inside one transaction.

A disk's content is the list of sessions that could write to it, so that a test can say "this home was never lost" and mean it.
"""

from __future__ import annotations

import json
from dataclasses import replace

from nodus_providers.simulated.database import Transaction
from nodus_providers.simulated.effects import Gone, Quota, VisibleAfter
from nodus_providers.simulated.gate import Effects
from nodus_providers.simulated.instants import from_micro, span_micro
from nodus_providers.simulated.machines import address_in
from nodus_providers.simulated.rows import OF_TOKEN, DiskRow, MachineRow, TokenRow
from nodus_providers.simulated.timeline import ENDED, mark
from nodus_providers.simulated.views import disk_view, shown_disk
from nodus_providers.simulated.world import World
from nodusctl.base.canonical import digest
from nodusctl.provider.machines import Disk, DiskState, MachineState
from nodusctl.provider.replies import Done, Refused, Reply, Scope
from nodusctl.provider.requests import AttachRequest, DeleteDiskRequest, DetachRequest, DiskRequest, GrowRequest


def create(tx: Transaction, world: World, request: DiskRequest, effects: Effects) -> Reply[Disk]:
    """Make an empty disk; a repeated token finds it."""
    request_digest = digest([request.name, request.zone, request.size_bytes, dict(request.tags)])
    earlier = tx.row(DiskRow, OF_TOKEN, request.token, world.account)
    if earlier is not None and world.manners.create_is_idempotent:
        if earlier.request_digest != request_digest or earlier.state == DiskState.GONE:
            return Refused("IdempotencyKeyReused", Scope.REQUEST, "this client token was used for another disk")
        return Done(disk_view(tx, world, earlier))
    if refusal := _unmakeable(tx, world, request, effects):
        return refusal
    tags, hidden = dict(request.tags), effects.first(VisibleAfter)
    row = DiskRow(
        id=f"d-{tx.next_number('disk'):06d}",
        account=world.account,
        token=request.token,
        request_digest=request_digest,
        name=request.name,
        zone=request.zone,
        size_bytes=rounded(world, request.size_bytes),
        tags=json.dumps(tags),
        address=address_in(tags),
        state=DiskState.READY,
        created_at=tx.now,
        visible_at=tx.now + span_micro(hidden.delay) if hidden else tx.now,
    )
    tx.put(row)
    return Done(shown_disk(tx, world, row, effects))


def attach(tx: Transaction, world: World, request: AttachRequest, effects: Effects) -> Reply[Disk]:
    """Attach to a machine of the same zone; a disk that another machine holds is VolumeBusy."""
    disk = ready_disk(tx, world, request.disk.disk_id)
    machine = tx.row(MachineRow, "id = ? AND account = ?", request.machine_id, world.account)
    if disk is None or machine is None or machine.state in ENDED or effects.first(Gone):
        return Refused("NotFound", Scope.REQUEST, f"{request.disk.disk_id} and {request.machine_id} are not both there")
    if disk.attached_to not in ("", machine.id):
        return Refused("VolumeBusy", Scope.REQUEST, f"the disk {disk.id} is attached to {disk.attached_to}")
    if refusal := _unattachable(tx, world, disk, machine):
        return refusal
    _remember(tx, request.token, "attach", disk.id)
    if not disk.attached_to:
        disk = replace(disk, attached_to=machine.id, is_read_only=int(request.disk.is_read_only))
        tx.put(disk)
        tx.put(replace(machine, is_quiet=0))
    if machine.state == MachineState.RUNNING:
        mark(tx, disk, machine)
    return Done(shown_disk(tx, world, tx.rows(DiskRow, "id = ?", disk.id)[0], effects))


def detach(tx: Transaction, world: World, request: DetachRequest, effects: Effects) -> Reply[Disk]:
    """Detach, confirmed; a disk that hangs nowhere is detached already."""
    disk = ready_disk(tx, world, request.disk_id)
    if disk is None or effects.first(Gone):
        return Refused("NotFound", Scope.REQUEST, f"there is no disk {request.disk_id}")
    if disk.attached_to not in ("", request.machine_id):
        return Refused("VolumeBusy", Scope.REQUEST, f"the disk {disk.id} is attached to {disk.attached_to}")
    _remember(tx, request.token, "detach", disk.id)
    disk = replace(disk, attached_to="", is_read_only=0)
    tx.put(disk)
    return Done(shown_disk(tx, world, disk, effects))


def grow(tx: Transaction, world: World, request: GrowRequest, effects: Effects) -> Reply[Disk]:
    """Grow in place; a smaller size is refused."""
    disk = ready_disk(tx, world, request.disk_id)
    if disk is None or effects.first(Gone):
        return Refused("NotFound", Scope.REQUEST, f"there is no disk {request.disk_id}")
    size_bytes = rounded(world, request.size_bytes)
    if size_bytes < disk.size_bytes:
        return Refused("Invalid", Scope.REQUEST, f"a disk never shrinks; {disk.id} has {disk.size_bytes} bytes")
    _remember(tx, request.token, "grow", disk.id)
    disk = replace(disk, size_bytes=size_bytes)
    tx.put(disk)
    return Done(shown_disk(tx, world, disk, effects))


def delete(tx: Transaction, world: World, request: DeleteDiskRequest, effects: Effects) -> Reply[Disk]:
    """Delete a disk that hangs nowhere; asking again confirms."""
    disk = tx.row(DiskRow, "id = ? AND account = ?", request.disk_id, world.account)
    if disk is None or effects.first(Gone):
        return Refused("NotFound", Scope.REQUEST, f"there is no disk {request.disk_id}")
    if disk.attached_to:
        return Refused("VolumeBusy", Scope.REQUEST, f"the disk {disk.id} is attached to {disk.attached_to}")
    _remember(tx, request.token, "volume-delete", disk.id)
    disk = replace(disk, state=DiskState.GONE, content="[]")
    tx.put(disk)
    tx.execute("DELETE FROM revision WHERE disk_id = ?", disk.id)
    return Done(shown_disk(tx, world, disk, effects))


def observe(tx: Transaction, world: World, disk_id: str, effects: Effects) -> Disk:
    """One disk as reported; one that isn't there, or isn't visible yet, is gone."""
    row = tx.row(DiskRow, "id = ? AND account = ? AND visible_at <= ?", disk_id, world.account, tx.now)
    return Disk(id=disk_id, state=DiskState.GONE) if row is None else shown_disk(tx, world, row, effects)


def disks_shown(tx: Transaction, world: World, effects: Effects) -> tuple[Disk, ...]:
    """Every tagged disk that isn't gone, in the order made."""
    rows = tx.rows(DiskRow, "account = ? AND state != 'gone' AND visible_at <= ?", world.account, tx.now, order="id")
    tagged = (row for row in rows if any(name.startswith("nodus") for name in json.loads(row.tags)))
    shown = (shown_disk(tx, world, row, effects) for row in tagged)
    return tuple(disk for disk in shown if disk.state is not DiskState.GONE)


def ready_disk(tx: Transaction, world: World, disk_id: str) -> DiskRow | None:
    """A disk that exists."""
    return tx.row(DiskRow, "id = ? AND account = ? AND state = 'ready'", disk_id, world.account)


def rounded(world: World, size_bytes: int) -> int:
    """Up to the platform's granularity."""
    step = world.manners.size_granularity
    return -(-size_bytes // step) * step


def _unmakeable(tx: Transaction, world: World, request: DiskRequest, effects: Effects) -> Refused | None:
    if world.zone(request.zone) is None:
        return Refused("Invalid", Scope.REQUEST, f"there is no zone {request.zone}")
    if request.size_bytes <= 0:
        return Refused("Invalid", Scope.REQUEST, "a disk has a size")
    quota = effects.first(Quota)
    limits = [limit for limit in (world.quotas.disks, quota.limit if quota else None) if limit is not None]
    if limits and (held := tx.count(DiskRow, "account = ? AND state != 'gone'", world.account)) >= min(limits):
        return Refused("QuotaExceeded", Scope.ACCOUNT, f"the account may hold {min(limits)} disks and holds {held}")
    return None


def _unattachable(tx: Transaction, world: World, disk: DiskRow, machine: MachineRow) -> Refused | None:
    if world.manners.attaches_at_launch and disk.attached_to != machine.id:
        return Refused("Unsupported", Scope.REQUEST, "disks attach at launch only here")
    if disk.zone != machine.zone:
        return Refused("Invalid", Scope.REQUEST, f"the disk {disk.id} is in the zone {disk.zone}, the machine in {machine.zone}")
    if machine.state == MachineState.PENDING and not world.manners.attaches_while_booting:
        wait = from_micro(machine.boots_at) - from_micro(tx.now)
        return Refused("Unavailable", Scope.REQUEST, f"the machine {machine.id} is still booting", wait)
    return None


def _remember(tx: Transaction, token: str, operation: str, disk_id: str) -> None:
    tx.put(TokenRow(token=token, operation=operation, request_digest="", kind="disk", subject=disk_id))
