"""What falls due as the world's time goes on: boots, saves, armed edges, deletions, each at its own instant and in order.

A due entry is only a reminder. When it fires, the row decides whether it still holds: a renewed edge leaves its old reminder behind.
"""

from __future__ import annotations

import json
from dataclasses import replace
from enum import IntEnum

from nodus_providers.simulated.database import Transaction
from nodus_providers.simulated.rows import DiskRow, MachineRow, RevisionRow
from nodus_providers.simulated.world import World
from nodusctl.provider.contract import SelfStop
from nodusctl.provider.machines import MachineState, RevisionState


class Due(IntEnum):
    """What can fall due; at one instant the lower number comes first."""

    BOOT = 1
    SAVE = 2
    EDGE = 3
    DELETION = 4


AWAKE = (MachineState.PENDING, MachineState.RUNNING)
ENDED = (MachineState.TERMINATED, MachineState.GONE)


def remind(tx: Transaction, moment: int, due: Due, subject: str) -> None:
    """Have ``due`` looked at when the world reaches ``moment``."""
    tx.execute("INSERT OR IGNORE INTO due VALUES (?, ?, ?)", moment, int(due), subject)


def advance(tx: Transaction, world: World, target: int) -> None:
    """Move the world to ``target`` (never back), firing all that is due at or before it."""
    while next_due := tx.execute("SELECT time, rank, subject FROM due WHERE time <= ? ORDER BY time, rank, subject LIMIT 1", target):
        moment, rank, subject = next_due[0]
        tx.execute("DELETE FROM due WHERE time = ? AND rank = ? AND subject = ?", moment, rank, subject)
        if moment > tx.now:
            tx.set_now(moment)
        _fire(tx, world, Due(rank), moment, subject)
    if target > tx.now:
        tx.set_now(target)


def _fire(tx: Transaction, world: World, due: Due, moment: int, subject: str) -> None:
    if due is Due.SAVE:
        _finish_save(tx, moment, subject)
        return
    machine = tx.row(MachineRow, "id = ?", subject)
    if machine is None:
        return
    if due is Due.BOOT and machine.state == MachineState.PENDING and machine.boots_at == moment:
        boot(tx, machine, moment)
    elif due is Due.EDGE and machine.state in AWAKE and machine.edge_at == moment:
        _stop_itself(tx, world, machine, moment)
    elif due is Due.DELETION and machine.gone_at == moment:
        end(tx, world, machine, moment, state=MachineState.GONE, reason=machine.reason)


def boot(tx: Transaction, machine: MachineRow, moment: int) -> None:
    """The machine runs from ``moment`` on, and its session marks the disks it holds."""
    tx.put(replace(machine, state=MachineState.RUNNING, running_at=moment))
    for disk in tx.rows(DiskRow, "attached_to = ?", machine.id):
        mark(tx, disk, machine)


def mark(tx: Transaction, disk: DiskRow, machine: MachineRow) -> None:
    """Let a machine's session leave its mark on a disk it may write to; once a boot."""
    marks = json.loads(disk.content)
    session = f"{machine.id}/{machine.boot_number}"
    if not disk.is_read_only and session not in marks:
        tx.put(replace(disk, content=json.dumps([*marks, session])))


def end(tx: Transaction, world: World, machine: MachineRow, moment: int, *, state: MachineState, reason: str) -> None:
    """The machine is over; its disks come loose, or lose their live content where they don't outlive it."""
    ended_at = moment if machine.ended_at is None else machine.ended_at
    tx.put(replace(machine, state=state, reason=reason, ended_at=ended_at, edge_at=None, has_secrets=0, pushed_digest=""))
    for disk in tx.rows(DiskRow, "attached_to = ?", machine.id):
        content = disk.content if world.manners.disk_outlives_machine else "[]"
        tx.put(replace(disk, attached_to="", content=content))


def _stop_itself(tx: Transaction, world: World, machine: MachineRow, moment: int) -> None:
    if world.billing.self_stop is SelfStop.ENDS_MACHINE:
        end(tx, world, machine, moment, state=MachineState.TERMINATED, reason="EdgePassed")
        return
    ended_at = moment if world.billing.self_stop is SelfStop.ENDS_BILLING else None
    tx.put(
        replace(machine, state=MachineState.STOPPED, reason="EdgePassed", ended_at=ended_at, is_quiet=1, has_secrets=0, pushed_digest="")
    )


def _finish_save(tx: Transaction, moment: int, subject: str) -> None:
    revision = tx.row(RevisionRow, "id = ?", subject)
    if revision is not None and revision.state == RevisionState.SAVING and revision.ready_at == moment:
        tx.put(replace(revision, state=RevisionState.READY, committed_at=moment))
