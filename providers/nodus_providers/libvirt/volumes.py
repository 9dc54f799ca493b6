"""Disks that are qcow2 files on a host: made, observed, grown, attached, detached, deleted. Never made anew to grow.

    disks/<id>/disk.json              what it is; tokens of calls that changed it
    disks/<id>/live.qcow2             what machines write to
    disks/<id>/revisions/<n>.qcow2    with <n>.json: see revisions.py

A disk is attached to the machine whose record names it; there is no second place that says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from nodus_providers.libvirt.connection import Power
from nodus_providers.libvirt.domain_xml import disk_device, disk_target
from nodus_providers.libvirt.hosts import Host, tag_in
from nodus_providers.libvirt.machines import gone_record, ours
from nodus_providers.libvirt.records import thing_id
from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.provider.machines import Disk, DiskState, Revision, RevisionState
from nodusctl.provider.replies import Done, Refused, Reply
from nodusctl.provider.requests import AttachRequest, DeleteDiskRequest, DetachRequest, DiskRequest, GrowRequest

SECTOR_BYTES = 512
NOT_FOUND = Refused("NotFound", message="there is no disk of this id")
# One line a fact: D for a disk, R for a revision, H for a half of a save; then the disk's id and JSON. Without ids, all disks.
_READ = """cd "$1/disks" 2>/dev/null || exit 0; shift
[ $# -gt 0 ] || set -- d-*
for disk in "$@"; do
    [ -s "$disk/disk.json" ] || continue
    printf 'D %s ' "$disk"; cat "$disk/disk.json"
    for found in "$disk"/revisions/[0-9]*.json; do [ ! -s "$found" ] || { printf 'R %s ' "$disk"; cat "$found"; }; done
    for found in "$disk"/revisions/.saving-*.json; do [ ! -s "$found" ] || { printf 'H %s ' "$disk"; cat "$found"; }; done
done
"""
_MAKE = """set -eu
cd "$1/disks"; disk=$2; umask 077
rm -rf ".making-$disk"; mkdir -p ".making-$disk/revisions"
qemu-img create -q -f qcow2 -o compat=1.1 ".making-$disk/live.qcow2" "$3"
cat >".making-$disk/disk.json"
chmod 0711 ".making-$disk"; sync
mv -T ".making-$disk" "$disk"; sync
"""
WRITE = """set -eu
cd "$1"; umask 077
cat >.disk.new; sync .disk.new 2>/dev/null || sync
mv .disk.new disk.json
"""
_GROW = 'set -eu\nqemu-img resize -q "$1/live.qcow2" "$2"\n'
_DELETE = """set -eu
cd "$1"; umask 077
cat >"gone/.$2.new"; mv "gone/.$2.new" "gone/$2.json"; sync
mv -T "disks/$2" "disks/.away-$2"
rm -rf "disks/.away-$2"
"""
_WORK_SECONDS = 120.0
DiskRecord = dict[str, Any]


def live_file(host: Host, disk_id: str) -> str:
    """What machines write to."""
    return f"{host.disk_folder(disk_id)}/live.qcow2"


def exists(host: Host, disk_id: str) -> bool:
    """Whether there is a disk of this id."""
    return tag_in(disk_id) == host.tag and bool(read_disks(host, disk_id)[0])


def read_disks(host: Host, *disk_ids: str) -> tuple[Mapping[str, DiskRecord], Mapping[str, tuple[Revision, ...]]]:
    """Records and revisions by disk, of these disks or of all."""
    records: dict[str, DiskRecord] = {}
    ready: dict[str, list[Revision]] = {}
    halves: dict[str, list[Revision]] = {}
    for line in host.shell.run(_READ, host.folder, *disk_ids).splitlines():
        kind, disk_id, text = line.split(" ", 2)
        found = json.loads(text)
        if kind == "D":
            records[disk_id] = found
        else:
            (ready if kind == "R" else halves).setdefault(disk_id, []).append(revision_in(found))
    by_number = {
        disk_id: tuple(sorted(ready.get(disk_id, ()), key=_number)) + tuple(sorted(halves.get(disk_id, ()), key=_number))
        for disk_id in records
    }
    return records, by_number


def revision_in(record: Mapping[str, Any]) -> Revision:
    """A revision as written down; one without a moment of its commit is half made."""
    committed = record.get("committed_at")
    return Revision(
        id=record["id"],
        number=record["number"],
        state=RevisionState.READY if committed else RevisionState.SAVING,
        token=record["token"],
        size_bytes=record.get("size_bytes", 0),
        digest=record.get("digest", ""),
        committed_at=parse_time(committed) if committed else None,
    )


def observe_disks(host: Host, disk_ids: Sequence[str] = ()) -> dict[str, Disk]:
    """Disks by id, of these or all; one that isn't there is missing."""
    records, revisions = read_disks(host, *disk_ids)
    holders = {disk_id: machine_id for machine_id, (_, one) in ours(host.connection.domains(), host).items() for disk_id in one.disk_ids}
    return {
        disk_id: _disk(host, disk_id, record, revisions[disk_id], holder=holders.get(disk_id, "")) for disk_id, record in records.items()
    }


def observed_disk(host: Host, disk_id: str) -> Disk:
    """One disk as it is now; ``gone`` for one that was deleted or that nobody knows."""
    found = observe_disks(host, (disk_id,)).get(disk_id) if tag_in(disk_id) == host.tag else None
    if found is not None:
        return found
    record = gone_record(host, disk_id)
    return _disk(host, disk_id, dict(record), state=DiskState.GONE) if record else Disk(id=disk_id, state=DiskState.GONE)


def create_disk(host: Host, request: DiskRequest) -> Reply[Disk]:
    """Make the disk of this token, or answer with the one that is there."""
    disk_id = thing_id("d", host.tag, request.token)
    with host.locks.held(disk_id):
        known = read_disks(host, disk_id)[0].get(disk_id) or gone_record(host, disk_id)
        if known and known["requested"] != _requested(request):
            return Refused("IdempotencyKeyReused", message="this client token has made a disk from another request")
        if not known:
            size_bytes = -(-request.size_bytes // SECTOR_BYTES) * SECTOR_BYTES
            record = {
                "token": request.token,
                "requested": _requested(request),
                "tokens": [],
                "name": request.name,
                "size_bytes": size_bytes,
                "tags": dict(request.tags),
                "created_at": format_time(host.wall.now()),
            }
            host.shell.run(_MAKE, host.folder, disk_id, str(size_bytes), stdin=_line(record), limit_seconds=_WORK_SECONDS)
        return Done(observed_disk(host, disk_id))


def grow(host: Host, request: GrowRequest) -> Reply[Disk]:
    """Grow in place, also under a running machine; never smaller."""
    with host.locks.held(request.disk_id):
        record = read_disks(host, request.disk_id)[0].get(request.disk_id)
        if record is None:
            return NOT_FOUND
        if request.token not in record["tokens"]:
            size_bytes = -(-request.size_bytes // SECTOR_BYTES) * SECTOR_BYTES
            if size_bytes < record["size_bytes"]:
                return Refused("Invalid", message="a disk never shrinks")
            _resize(host, request.disk_id, size_bytes)
            write_record(host, request.disk_id, {**record, "size_bytes": size_bytes}, request.token)
        return Done(observed_disk(host, request.disk_id))


def _resize(host: Host, disk_id: str, size_bytes: int) -> None:
    file = live_file(host, disk_id)
    for domain, record in ours(host.connection.domains(), host).values():
        if disk_id in record.disk_ids and domain.power in (Power.RUNNING, Power.PAUSED):
            host.connection.resize(domain.uuid, disk_target(host.connection.xml(domain.uuid, is_live=True), file), size_bytes)
            return
    host.shell.run(_GROW, host.disk_folder(disk_id), str(size_bytes), limit_seconds=_WORK_SECONDS)


def attach(host: Host, request: AttachRequest) -> Reply[Disk]:
    """Confirm an attachment made at launch; a machine here can't take another disk later."""
    disk_id = request.disk.disk_id
    with host.locks.held(disk_id):
        record = read_disks(host, disk_id)[0].get(disk_id)
        if record is None:
            return NOT_FOUND
        disk = observed_disk(host, disk_id)
        if disk.attached_to == request.machine_id:
            write_record(host, disk_id, record, request.token)
            return Done(disk)
        if disk.attached_to:
            return Refused("VolumeBusy", message=f"the disk is attached to {disk.attached_to}")
        return Refused("Unsupported", message="a machine here gets its disk at launch")


def detach(host: Host, request: DetachRequest) -> Reply[Disk]:
    """Detach from a machine that doesn't run; a disk that isn't attached to it is detached already."""
    with host.locks.held(request.disk_id):
        record = read_disks(host, request.disk_id)[0].get(request.disk_id)
        if record is None:
            return NOT_FOUND
        domain, machine = ours(host.connection.domains(), host).get(request.machine_id, (None, None))
        if domain is not None and machine is not None and request.disk_id in machine.disk_ids:
            if domain.power is not Power.OFF:
                return Refused("VolumeBusy", message="the machine runs; its home can't be taken away")
            if device := disk_device(host.connection.xml(domain.uuid), live_file(host, request.disk_id)):
                host.connection.take_disk(domain.uuid, device)
            left = tuple(one for one in machine.disk_ids if one != request.disk_id)
            host.connection.set_mark(domain.uuid, machine.changed(disk_ids=left).mark())
        write_record(host, request.disk_id, record, request.token)
        return Done(observed_disk(host, request.disk_id))


def delete_disk(host: Host, request: DeleteDiskRequest) -> Reply[Disk]:
    """Delete a disk and its revisions; one that was deleted before is gone."""
    with host.locks.held(request.disk_id):
        disk = observed_disk(host, request.disk_id)
        if disk.state is DiskState.GONE:
            return Done(disk) if disk.token else NOT_FOUND
        if disk.attached_to:
            return Refused("VolumeBusy", message=f"the disk is attached to {disk.attached_to}")
        record = read_disks(host, request.disk_id)[0][request.disk_id]
        gone = {**record, "tokens": [*record["tokens"], request.token]}
        host.shell.run(_DELETE, host.folder, request.disk_id, stdin=_line(gone), limit_seconds=_WORK_SECONDS)
        return Done(observed_disk(host, request.disk_id))


def made_by(host: Host, token: str) -> Disk | Revision | None:
    """The disk or revision that this token made, grew, attached or detached."""
    records, revisions = read_disks(host)
    for disk_id, record in records.items():
        for revision in revisions[disk_id]:
            if revision.token == token and revision.state is RevisionState.READY:
                return revision
        if token == record["token"] or token in record["tokens"]:
            return observed_disk(host, disk_id)
    return next((one for found in revisions.values() for one in found if one.token == token), None)


def write_record(host: Host, disk_id: str, record: DiskRecord, token: str) -> None:
    """Write a disk's record with the token of the call that changed it."""
    tokens = record["tokens"] if token in record["tokens"] else [*record["tokens"], token]
    host.shell.run(WRITE, host.disk_folder(disk_id), stdin=_line({**record, "tokens": tokens}))


def _disk(
    host: Host,
    disk_id: str,
    record: DiskRecord,
    revisions: tuple[Revision, ...] = (),
    *,
    holder: str = "",
    state: DiskState = DiskState.READY,
) -> Disk:
    ready = [one for one in revisions if one.state is RevisionState.READY]
    return Disk(
        id=disk_id,
        state=state,
        token=record["token"],
        name=record["name"],
        zone=host.zone,
        location=host.location,
        size_bytes=record["size_bytes"],
        used_bytes=ready[-1].size_bytes if ready else None,
        tags=MappingProxyType(dict(record["tags"])),
        created_at=parse_time(record["created_at"]),
        attached_to=holder,
        revisions=revisions,
    )


def _requested(request: DiskRequest) -> dict[str, Any]:
    return {"name": request.name, "size_bytes": request.size_bytes, "tags": dict(request.tags)}


def _number(revision: Revision) -> int:
    return revision.number


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True).encode() + b"\n"
