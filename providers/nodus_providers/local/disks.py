"""Disks that are folders: made, observed, grown, attached, detached, deleted. Their sizes are recorded, not enforced.

A disk is attached to the machine whose record names it; there is no second place that says so.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nodus_providers.local.folders import Root, read_json, sync_folder, write_json
from nodus_providers.local.guest import Guest
from nodus_providers.local.host import Host
from nodus_providers.local.machines import attached_disks, holder_of
from nodus_providers.local.revisions import mend, revisions_of
from nodus_providers.local.trees import remove_tree
from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.provider.machines import Disk, DiskState
from nodusctl.provider.replies import Done, Refused, Reply
from nodusctl.provider.requests import AttachRequest, DeleteDiskRequest, DetachRequest, DiskRequest, GrowRequest

_NOT_FOUND = Refused("NotFound", message="there is no disk of this id")


class DiskShelf:
    """The disks of one provider instance."""

    def __init__(self, root: Root, host: Host) -> None:
        self._root, self._host = root, host

    def exists(self, disk_id: str) -> bool:
        """True for a disk that is there."""
        return bool(disk_id) and (self._root.disk(disk_id) / "disk.json").exists()

    def live(self, disk_id: str) -> Path:
        """The disk's live content."""
        return self._root.disk(disk_id) / "live"

    def observed(self, disk_id: str) -> Disk:
        """The disk as it is now; ``gone`` for an id nobody knows."""
        try:
            folder = self._root.disk(disk_id)
        except ValueError:
            return Disk(id=disk_id, state=DiskState.GONE)
        record = read_json(folder / "disk.json") or self._root.gone(disk_id)
        if not record:
            return Disk(id=disk_id, state=DiskState.GONE)
        revisions = revisions_of(folder)
        return Disk(
            id=disk_id,
            state=DiskState.READY if folder.exists() else DiskState.GONE,
            token=record["token"],
            name=record["name"],
            zone=self._host.zone,
            location=self._host.account,
            size_bytes=record["size_bytes"],
            used_bytes=revisions[-1].size_bytes if revisions else None,
            tags=MappingProxyType(dict(record["tags"])),
            created_at=parse_time(record["created_at"]),
            attached_to=holder_of(self._root, disk_id),
            revisions=revisions,
        )

    def create(self, request: DiskRequest) -> Reply[Disk]:
        """Make the disk of this token, or answer with the one that is there."""
        if request.zone != self._host.zone:
            return Refused("Invalid", message=f"this computer is the zone {self._host.zone}")
        disk_id = self._root.id_for("d", request.token)
        with self._root.locked(disk_id):
            known = self._root.gone(disk_id) or read_json(self._root.disk(disk_id) / "disk.json")
            if known and known["requested"] != _requested(request):
                return Refused("IdempotencyKeyReused", message="this client token has made a disk from another request")
            if not known:
                self._build(disk_id, request)
            return Done(self.observed(disk_id))

    def grow(self, request: GrowRequest) -> Reply[Disk]:
        """Record a larger size."""
        if not self.exists(request.disk_id):
            return _NOT_FOUND
        with self._root.locked(request.disk_id):
            record = self._record(request.disk_id)
            if request.token not in record["tokens"]:
                if request.size_bytes < record["size_bytes"]:
                    return Refused("Invalid", message="a disk never shrinks")
                self._write(request.disk_id, {**record, "size_bytes": request.size_bytes}, request.token)
            return Done(self.observed(request.disk_id))

    def attach(self, request: AttachRequest) -> Reply[Disk]:
        """Confirm an attachment made at launch; a local machine can't take another disk later."""
        disk_id = request.disk.disk_id
        if not self.exists(disk_id):
            return _NOT_FOUND
        holder = holder_of(self._root, disk_id)
        if holder == request.machine_id:
            with self._root.locked(disk_id):
                self._write(disk_id, self._record(disk_id), request.token)
            return Done(self.observed(disk_id))
        if holder:
            return Refused("VolumeBusy", message=f"the disk is attached to {holder}")
        return Refused("Unsupported", message="a local machine gets its disk at launch")

    def detach(self, request: DetachRequest) -> Reply[Disk]:
        """Detach from a machine that doesn't run; a disk that isn't attached to it is detached already."""
        if not self.exists(request.disk_id):
            return _NOT_FOUND
        with self._root.locked(request.disk_id):
            folder = self._root.machine(request.machine_id)
            if request.disk_id in attached_disks(folder):
                if Guest(folder).has_keeper():
                    return Refused("VolumeBusy", message="the machine runs; its home can't be taken away")
                left = [disk_id for disk_id in attached_disks(folder) if disk_id != request.disk_id]
                write_json(folder / "disks.json", {"disk_ids": left})
            self._write(request.disk_id, self._record(request.disk_id), request.token)
            return Done(self.observed(request.disk_id))

    def delete(self, request: DeleteDiskRequest) -> Reply[Disk]:
        """Delete a disk and its revisions; one that was deleted before is gone."""
        folder = self._root.disk(request.disk_id)
        if not folder.exists() and not self._root.gone(request.disk_id):
            return _NOT_FOUND
        with self._root.locked(request.disk_id):
            if holder := holder_of(self._root, request.disk_id):
                return Refused("VolumeBusy", message=f"the disk is attached to {holder}")
            if folder.exists():
                record = self._record(request.disk_id)
                self._root.remember_gone(request.disk_id, {**record, "tokens": [*record["tokens"], request.token]})
                away = folder.with_name(f".away-{folder.name}")
                remove_tree(away)
                folder.rename(away)
                sync_folder(self._root.disks)
                remove_tree(away)
            return Done(self.observed(request.disk_id))

    def made_by(self, token: str) -> Disk | None:
        """The disk that this token made, grew, attached or detached."""
        for disk_id in self._root.ids(self._root.disks):
            record = self._record(disk_id)
            if token == record["token"] or token in record["tokens"]:
                return self.observed(disk_id)
        return None

    def mended(self, disk_id: str) -> None:
        """Finish a restore that a crash cut in two; the caller holds the disk's lock."""
        mend(self._root.disk(disk_id))

    def _build(self, disk_id: str, request: DiskRequest) -> None:
        self._root.disks.mkdir(mode=0o700, parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=".making-", dir=self._root.disks))
        for part in ("live", "revisions"):
            (making / part).mkdir(mode=0o700)
        record = {
            "token": request.token,
            "requested": _requested(request),
            "tokens": [],
            "name": request.name,
            "size_bytes": request.size_bytes,
            "tags": dict(request.tags),
            "created_at": format_time(self._root.wall.now()),
        }
        write_json(making / "disk.json", record)
        making.rename(self._root.disk(disk_id))
        sync_folder(self._root.disks)

    def _record(self, disk_id: str) -> dict[str, Any]:
        return read_json(self._root.disk(disk_id) / "disk.json")

    def _write(self, disk_id: str, record: Mapping[str, Any], token: str) -> None:
        if token not in record["tokens"]:
            write_json(self._root.disk(disk_id) / "disk.json", {**record, "tokens": [*record["tokens"], token]})


def _requested(request: DiskRequest) -> dict[str, Any]:
    return {"name": request.name, "size_bytes": request.size_bytes, "tags": dict(request.tags)}
