"""From a machine's folder to what the contract calls a Machine. Reading only; the truth about an end is read, never guessed.

A folder whose keeper is not on record is no machine yet: launching is committed by the keeper, not by the folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nodus_providers.local.folders import Root, read_json
from nodus_providers.local.guest import Guest
from nodus_providers.local.host import Host
from nodusctl.base.timestamps import parse_time
from nodusctl.provider.machines import Machine, MachineState, SshEndpoint


def observed(root: Root, host: Host, machine_id: str) -> Machine:
    """The machine as it is now; ``gone`` for an id nobody knows."""
    try:
        folder = root.machine(machine_id)
    except ValueError:
        return Machine(id=machine_id, state=MachineState.GONE)
    record = read_json(folder / "machine.json")
    if not record:
        return _gone(root, host, machine_id)
    try:
        return _standing(Guest(folder), record, host, machine_id)
    except (OSError, KeyError):
        if (folder / "machine.json").exists():
            raise
        # It was released while we looked.
        return _gone(root, host, machine_id)


def _standing(guest: Guest, record: Mapping[str, Any], host: Host, machine_id: str) -> Machine:
    state, reason, detail, ended_at = _state(guest)
    port = guest.door() if state is MachineState.RUNNING else 0
    return Machine(
        **_fixed(record, host),
        id=machine_id,
        state=state,
        reason=reason,
        reason_detail=detail,
        billing_started_at=guest.started_at(),
        ended_at=_not_before(guest.started_at(), ended_at),
        ssh=_door(guest, port) if port else None,
        armed_until=guest.armed_until(),
        disk_ids=attached_disks(guest.folder),
    )


def _door(guest: Guest, port: int) -> SshEndpoint:
    return SshEndpoint(host="127.0.0.1", port=port, user=str(read_json(guest.folder / "boot.json")["user"]), is_here=True)


def attached_disks(folder: Path) -> tuple[str, ...]:
    """Ids of the disks a machine holds."""
    return tuple(read_json(folder / "disks.json").get("disk_ids", ()))


def holder_of(root: Root, disk_id: str) -> str:
    """The machine that holds a disk, ended or not, or ""."""
    return next((name for name in root.ids(root.machines) if disk_id in attached_disks(root.machine(name))), "")


def _gone(root: Root, host: Host, machine_id: str) -> Machine:
    record = root.gone(machine_id)
    if not record:
        return Machine(id=machine_id, state=MachineState.GONE)
    return Machine(
        **_fixed(record, host),
        id=machine_id,
        state=MachineState.GONE,
        reason=record["reason"],
        reason_detail=record.get("reason_detail", ""),
        billing_started_at=_moment(record.get("started_at")),
        ended_at=_moment(record["ended_at"]),
    )


def _fixed(record: Mapping[str, Any], host: Host) -> dict[str, Any]:
    return {
        "token": record["token"],
        "name": record["name"],
        "zone": host.zone,
        "location": host.account,
        "offer_id": record["offer_id"],
        "tags": MappingProxyType(dict(record["tags"])),
        "created_at": parse_time(record["created_at"]),
    }


def _state(guest: Guest) -> tuple[MachineState, str, str, datetime | None]:
    """State, reason, evidence and end. A machine that ended keeps its folder until it is released: stopped, not gone."""
    ended = guest.ended()
    if ended:
        return MachineState.STOPPED, ended["reason"], ended["detail"], parse_time(ended["ended_at"])
    if not guest.has_begun:
        return MachineState.PENDING, "launching", "", None
    if not guest.has_keeper():
        return _without_keeper(guest)
    if guest.door():
        return MachineState.RUNNING, "", "", None
    if note := guest.end_note():
        return MachineState.RUNNING, "ending", f"{note['reason']}: {note['detail']}".removesuffix(": "), None
    return MachineState.PENDING, "sshd is starting", "", None


def _without_keeper(guest: Guest) -> tuple[MachineState, str, str, datetime | None]:
    """A machine that didn't write down its end. A keeper that was about to end it had written down why."""
    survivors = int(guest.run("survivors").stdout or 0) if guest.is_of_this_boot() else 0
    if survivors:
        return MachineState.RUNNING, "killed", f"its keeper was killed; {survivors} processes of it still run", None
    seen, note = guest.last_seen(), guest.end_note()
    if note:
        decided_at = parse_time(note["decided_at"])
        return MachineState.STOPPED, note["reason"], note["detail"], max(seen, decided_at) if seen else decided_at
    if not guest.is_of_this_boot():
        return MachineState.STOPPED, "poweroff", "the computer was restarted; the end is the last heartbeat", seen
    return MachineState.STOPPED, "killed", "its keeper was killed; the end is the last heartbeat", seen


def _not_before(start: datetime | None, end: datetime | None) -> datetime | None:
    """An end that is no earlier than its start: the computer's clock may have been set back in between."""
    return max(start, end) if start and end else end


def _moment(text: str | None) -> datetime | None:
    return parse_time(text) if text else None
