"""How the platform reports a row: what it shows, what it hides, and the scripted lies about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from nodus_providers.simulated.database import Transaction
from nodus_providers.simulated.effects import Forbidden, Gone, Lie, Noise
from nodus_providers.simulated.gate import Effects, seems_unreachable
from nodus_providers.simulated.instants import from_micro, moment_or_none
from nodus_providers.simulated.rows import DiskRow, MachineRow, RevisionRow
from nodus_providers.simulated.timeline import AWAKE
from nodus_providers.simulated.world import World
from nodusctl.base.canonical import digest
from nodusctl.provider.machines import Disk, DiskState, Machine, MachineState, Revision, RevisionState, SshEndpoint

_NOISE_BYTES = 768


def machine_view(tx: Transaction, world: World, row: MachineRow) -> Machine:
    """The machine as it is."""
    disks, line = tx.rows(DiskRow, "attached_to = ?", row.id, order="id"), world.line(row.offer_id)
    return Machine(
        id=row.id,
        state=MachineState(row.state),
        token=row.token,
        reason="Releasing" if row.gone_at is not None and row.state in AWAKE else row.reason,
        reason_detail=row.reason_detail,
        name=row.name,
        zone=row.zone,
        location=world.location(row.zone),
        offer_id=row.offer_id,
        tags=MappingProxyType(json.loads(row.tags)),
        created_at=from_micro(row.created_at),
        billing_started_at=from_micro(row.created_at),
        ended_at=moment_or_none(row.ended_at),
        ssh=SshEndpoint(host=f"{row.id}.simulated.invalid", port=22, user="nodus") if row.state == MachineState.RUNNING else None,
        armed_until=moment_or_none(row.edge_at),
        disk_ids=tuple(disk.id for disk in disks),
        is_interruptible=bool(row.is_interruptible),
        instance_type=line.instance_type if line is not None else "",
        vcpu_milli=line.cpu if line is not None else None,
        memory_bytes=line.memory if line is not None else None,
    )


def shown_machine(tx: Transaction, world: World, row: MachineRow, effects: Effects) -> Machine:
    """The machine as the platform reports it under these effects."""
    if effects.first(Forbidden, row.address):
        return Machine(id=row.id, state=MachineState.UNREADABLE, reason="Forbidden")
    if effects.first(Gone, row.address):
        return Machine(id=row.id, state=MachineState.GONE)
    machine = machine_view(tx, world, row)
    if lie := effects.first(Lie, row.address):
        machine = replace(machine, state=lie.state)
    if machine.state is MachineState.RUNNING and (row.is_unreachable or seems_unreachable(tx, row.address)):
        machine = replace(machine, impaired="its status check fails: the machine answers nothing")
    if effects.first(Noise, row.address):
        machine = replace(machine, tags=_noisy(tx, machine.tags))
    return machine


def disk_view(tx: Transaction, world: World, row: DiskRow) -> Disk:
    """The disk as it is, with its revisions in order."""
    revisions = tx.rows(RevisionRow, "disk_id = ?", row.id, order="number, id")
    return Disk(
        id=row.id,
        state=DiskState(row.state),
        token=row.token,
        name=row.name,
        zone=row.zone,
        location=world.location(row.zone),
        size_bytes=row.size_bytes,
        used_bytes=len(row.content),
        tags=MappingProxyType(json.loads(row.tags)),
        created_at=from_micro(row.created_at),
        attached_to=row.attached_to,
        revisions=tuple(revision_view(revision) for revision in revisions),
    )


def shown_disk(tx: Transaction, world: World, row: DiskRow, effects: Effects) -> Disk:
    """The disk as the platform reports it under these effects."""
    if effects.first(Forbidden, row.address):
        return Disk(id=row.id, state=DiskState.UNREADABLE)
    if effects.first(Gone, row.address):
        return Disk(id=row.id, state=DiskState.GONE)
    disk = disk_view(tx, world, row)
    lie = effects.first(Lie, row.address)
    if lie and str(lie.state) in [str(state) for state in DiskState]:
        disk = replace(disk, state=DiskState(str(lie.state)))
    if effects.first(Noise, row.address):
        disk = replace(disk, tags=_noisy(tx, disk.tags), size_bytes=disk.size_bytes + _NOISE_BYTES)
    return disk


def revision_view(row: RevisionRow) -> Revision:
    """The revision as it is; its digest is over the content it holds."""
    return Revision(
        id=row.id,
        number=row.number,
        state=RevisionState(row.state),
        token=row.token,
        size_bytes=row.size_bytes,
        digest=digest(json.loads(row.content)) if row.state == RevisionState.READY else "",
        committed_at=moment_or_none(row.committed_at),
        reason=row.reason,
    )


def _noisy(tx: Transaction, tags: Mapping[str, str]) -> Mapping[str, str]:
    reordered = dict(reversed(list(tags.items())))
    return MappingProxyType({"etag": f"W/{tx.next_number('etag')}", **reordered, "memory": "16384Mi"})
