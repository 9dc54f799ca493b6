"""What falls due as the world's time goes on: boots, saves, edges, idle stops, deletions, each at its own instant and in order.

A due entry is only a reminder. When it fires, the row decides whether it still holds: a renewed edge leaves its old reminder behind, and so
does a use of the machine its idle stop.
"""

from __future__ import annotations

import json
from dataclasses import replace
from enum import IntEnum

from nodus_providers.simulated.database import Transaction
from nodus_providers.simulated.instants import SECOND, from_micro
from nodus_providers.simulated.rows import DiskRow, MachineRow, RevisionRow
from nodus_providers.simulated.world import World
from nodusctl.base.timestamps import format_time
from nodusctl.provider.contract import SelfStop
from nodusctl.provider.machines import MachineState, RevisionState


class Due(IntEnum):
    """What can fall due; at one instant the lower number comes first."""

    BOOT = 1
    SAVE = 2
    EDGE = 3
    DELETION = 4
    IDLE = 5


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
        _stop_itself(tx, world, machine, moment, reason="edge", detail="its deadline has come")
    elif due is Due.IDLE and _is_idle(machine, moment):
        _stop_itself(tx, world, machine, moment, reason="idle", detail=_idle_evidence(tx, machine))
    elif due is Due.DELETION and machine.gone_at == moment:
        end(tx, world, machine, moment, state=MachineState.GONE, reason=machine.reason)


def boot(tx: Transaction, machine: MachineRow, moment: int) -> None:
    """The machine runs from ``moment`` on, and its session marks the disks it holds."""
    used(tx, replace(machine, state=MachineState.RUNNING, running_at=moment), moment)
    for disk in tx.rows(DiskRow, "attached_to = ?", machine.id):
        mark(tx, disk, machine)


def used(tx: Transaction, machine: MachineRow, moment: int) -> MachineRow:
    """The machine was used at ``moment``, which puts its idle stop off; stored and returned."""
    return with_idle_timeout(tx, replace(machine, used_at=moment), machine.idle_seconds)


def with_idle_timeout(tx: Transaction, machine: MachineRow, idle_seconds: int | None) -> MachineRow:
    """The machine with this idle timeout, None for never; stored and returned."""
    changed = replace(machine, idle_seconds=idle_seconds)
    tx.put(changed)
    due_at = idle_at(changed)
    if due_at is not None:
        # A timeout that was shortened may have run out already.
        remind(tx, max(due_at, tx.now), Due.IDLE, changed.id)
    return changed


def idle_at(machine: MachineRow) -> int | None:
    """When the machine stops itself unless it is used before; None where it never does."""
    if machine.idle_seconds is None or machine.used_at is None or machine.edge_at is None:
        return None
    return machine.used_at + machine.idle_seconds * SECOND


def _is_idle(machine: MachineRow, moment: int) -> bool:
    due_at = idle_at(machine)
    return machine.state == MachineState.RUNNING and not machine.is_quiet and due_at is not None and due_at <= moment


def _idle_evidence(tx: Transaction, machine: MachineRow) -> str:
    last = tx.execute("SELECT kind, detail, time FROM activity WHERE machine_id = ? ORDER BY time DESC, rowid DESC LIMIT 1", machine.id)
    said = f"{last[0][0]}: {last[0][1]}, {format_time(from_micro(last[0][2]))}" if last else "none"
    since = format_time(from_micro(machine.used_at or machine.created_at))
    return f"idle since {since} (timeout {machine.idle_seconds} s); last activity: {said}"


def mark(tx: Transaction, disk: DiskRow, machine: MachineRow) -> None:
    """Let a machine's session leave its mark on a disk it may write to; once a boot."""
    marks = json.loads(disk.content)
    session = f"{machine.id}/{machine.boot_number}"
    if not disk.is_read_only and session not in marks:
        tx.put(replace(disk, content=json.dumps([*marks, session])))


def end(
    tx: Transaction, world: World, machine: MachineRow, moment: int, *, state: MachineState, reason: str, detail: str | None = None
) -> None:
    """The machine is over; its disks come loose, or lose their live content where they don't outlive it."""
    ended_at = moment if machine.ended_at is None else machine.ended_at
    said = machine.reason_detail if detail is None else detail
    ended = replace(machine, state=state, reason=reason, reason_detail=said, ended_at=ended_at)
    tx.put(replace(ended, edge_at=None, has_secrets=0, pushed_digest=""))
    for disk in tx.rows(DiskRow, "attached_to = ?", machine.id):
        content = disk.content if world.manners.disk_outlives_machine else "[]"
        tx.put(replace(disk, attached_to="", content=content))


def _stop_itself(tx: Transaction, world: World, machine: MachineRow, moment: int, *, reason: str, detail: str) -> None:
    if world.billing.self_stop is SelfStop.ENDS_MACHINE:
        end(tx, world, machine, moment, state=MachineState.TERMINATED, reason=reason, detail=detail)
        return
    ended_at = moment if world.billing.self_stop is SelfStop.ENDS_BILLING else None
    stopped = replace(machine, state=MachineState.STOPPED, reason=reason, reason_detail=detail, ended_at=ended_at)
    tx.put(replace(stopped, is_quiet=1, has_secrets=0, pushed_digest=""))


def _finish_save(tx: Transaction, moment: int, subject: str) -> None:
    revision = tx.row(RevisionRow, "id = ?", subject)
    if revision is not None and revision.state == RevisionState.SAVING and revision.ready_at == moment:
        tx.put(replace(revision, state=RevisionState.READY, committed_at=moment))
