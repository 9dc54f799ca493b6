"""Ending a machine for good: its processes, its keys and secrets, its folder. What it was is remembered in a few lines.

Asking again goes on where the last call stopped, also when that call was killed; gone is said only once nothing of the machine runs.
"""

from __future__ import annotations

import subprocess
from datetime import datetime

from nodus_providers.local.folders import Root, read_json
from nodus_providers.local.guest import Guest
from nodus_providers.local.host import Host
from nodus_providers.local.limits import remove_limits
from nodus_providers.local.machines import observed
from nodus_providers.local.trees import remove_tree
from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.provider.machines import Machine, MachineState, Release, ReleaseState
from nodusctl.provider.replies import Done, Refused, Reply
from nodusctl.provider.requests import ReleaseRequest

_GRACE_SECONDS = 10
_WAIT_SECONDS = 15
_NEVER_SHOWN = Refused("NotFound", message="there has never been a machine of this id here")


def release(root: Root, host: Host, request: ReleaseRequest) -> Reply[Release]:
    """End the machine, or go on ending it. An id nobody has seen proves nothing and is NotFound."""
    with root.locked(request.machine_id):
        folder = root.machine(request.machine_id)
        if not (folder / "machine.json").exists():
            was = root.gone(request.machine_id)
            return Done(Release(state=ReleaseState.GONE, ended_at=parse_time(was["ended_at"]))) if was else _NEVER_SHOWN
        # Before anything is ended, the machine may have ended by itself: then that is when its billing ended, and why.
        before = observed(root, host, request.machine_id)
        if not _has_ended(Guest(folder)):
            return Done(Release(state=ReleaseState.RELEASING))
        last = before if before.state is MachineState.STOPPED else observed(root, host, request.machine_id)
        ended_at = last.ended_at or root.wall.now()
        _forget(root, request.machine_id, ended_at, last)
        return Done(Release(state=ReleaseState.GONE, ended_at=ended_at))


def _has_ended(guest: Guest) -> bool:
    try:
        ended = guest.run("end", "--reason", "released", "--grace-seconds", str(_GRACE_SECONDS), "--wait-seconds", str(_WAIT_SECONDS))
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0


def _forget(root: Root, machine_id: str, ended_at: datetime, last: Machine) -> None:
    folder = root.machine(machine_id)
    started_at = Guest(folder).started_at()
    record = {
        **read_json(folder / "machine.json"),
        "reason": last.reason,
        "reason_detail": last.reason_detail,
        "ended_at": format_time(ended_at),
        "started_at": format_time(started_at) if started_at else None,
    }
    root.remember_gone(machine_id, record)
    remove_limits(folder)
    # The record of disks goes with the folder: from here on they are attached to nothing.
    away = folder.with_name(f".away-{folder.name}")
    remove_tree(away)
    folder.rename(away)
    remove_tree(away)
