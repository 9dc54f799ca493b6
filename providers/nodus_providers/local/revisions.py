"""Revisions of a disk: verified copies of its live content that nothing writes to again; restore, delete, read again.

    revisions/<n>/             a revision: revision.json, manifest, tree/
    revisions/.saving-<hash>/  a half of the save with this token; renamed to <n> when all of it is verified, and only then a revision
    restoring-<hash>/          a half of the restore with this token

A file that is in the revision before just as it is saved now is shared with it (one inode, two names). The live content shares with none.
A restore changes places in two renames. ``disk.json`` says that it is under way, so ``mend`` finishes it after a crash between them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from nodus_providers.local.folders import Root, read_json, sync_folder, write_json
from nodus_providers.local.machines import holder_of
from nodus_providers.local.trees import (
    BrokenCopyError,
    EarlierCopy,
    NotQuietError,
    copy_tree,
    manifest_digest,
    read_manifest,
    remove_tree,
    verify_tree,
)
from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.provider.machines import Revision, RevisionState
from nodusctl.provider.replies import Done, Refused, Reply
from nodusctl.provider.requests import DeleteRevisionRequest, RestoreRequest, SaveRequest

_SLICE = timedelta(seconds=20)
_NO_DISK = Refused("NotFound", message="there is no disk of this id")
_NO_REVISION = Refused("NotFound", message="there is no revision of this id")


def save(root: Root, request: SaveRequest) -> Reply[Revision]:
    """Make revision ``number``, or go on making it; ``saving`` after a slice of 20 s. A copy that can't be trusted is ``failed``."""
    folder = root.disk(request.disk_id)
    if not (folder / "disk.json").exists():
        return _NO_DISK
    with root.locked(request.disk_id):
        mend(folder)
        known = read_json(folder / "revisions" / str(request.number) / "revision.json")
        if known:
            is_ours = known["token"] == request.token
            return Done(_ready(known)) if is_ours else Refused("Conflict", message=f"revision {request.number} is there already")
        return Done(_saved(root, folder, request))


def restore(root: Root, request: RestoreRequest) -> Reply[None]:
    """Make the live content equal to a revision. All or nothing; a repeated token changes nothing."""
    folder = root.disk(request.disk_id)
    if not (folder / "disk.json").exists():
        return _NO_DISK
    with root.locked(request.disk_id):
        mend(folder)
        record = read_json(folder / "disk.json")
        if request.token in record["tokens"]:
            return Done(None)
        if holder := holder_of(root, request.disk_id):
            return Refused("VolumeBusy", message=f"the disk is attached to {holder}")
        revision = _revision_folder(folder, request.disk_id, request.revision_id)
        if revision is None:
            return _NO_REVISION
        return _restored(folder, revision, record, request.token)


def delete_revision(root: Root, request: DeleteRevisionRequest) -> Reply[None]:
    """Delete one revision. It stops being one by a rename; what it alone held is removed after that. A repeated token is done."""
    folder = root.disk(request.disk_id)
    if not (folder / "disk.json").exists():
        return _NO_DISK
    with root.locked(request.disk_id):
        mend(folder)
        record = read_json(folder / "disk.json")
        away = folder / _named("dropping", request.token)
        if request.token not in record["tokens"]:
            revision = _revision_folder(folder, request.disk_id, request.revision_id)
            if revision is None and not away.exists():
                return _NO_REVISION
            if revision is not None:
                revision.rename(away)
                sync_folder(folder / "revisions")
            write_json(folder / "disk.json", {**record, "tokens": [*record["tokens"], request.token]})
        remove_tree(away)
        return Done(None)


def verify_revision(root: Root, disk_id: str, revision_id: str) -> Reply[Revision]:
    """Read every byte of a revision again; ``failed`` names the first file that is not what was saved."""
    folder = root.disk(disk_id)
    if not (folder / "disk.json").exists():
        return _NO_DISK
    revision = _revision_folder(folder, disk_id, revision_id)
    if revision is None:
        return _NO_REVISION
    known = _ready(read_json(revision / "revision.json"))
    if manifest_digest(revision / "manifest") != known.digest:
        return Done(replace(known, state=RevisionState.FAILED, reason="its manifest is not the one that was written with it"))
    try:
        verify_tree(revision / "tree", revision / "manifest")
    except (BrokenCopyError, OSError) as fault:
        return Done(replace(known, state=RevisionState.FAILED, reason=str(fault)))
    return Done(known)


def revisions_of(folder: Path) -> tuple[Revision, ...]:
    """A disk's revisions by number, then halves of saves."""
    shelf = folder / "revisions"
    if not shelf.is_dir():
        return ()
    ready = [_ready(record) for path in shelf.iterdir() if path.name.isdigit() and (record := read_json(path / "revision.json"))]
    halves = [_half(about) for path in shelf.glob(".saving-*") if (about := read_json(path / "half.json"))]
    return (*sorted(ready, key=lambda revision: revision.number), *sorted(halves, key=lambda revision: revision.number))


def mend(folder: Path) -> None:
    """Finish the renames of a restore under way; the caller holds the disk's lock."""
    record = read_json(folder / "disk.json")
    token = record.get("restoring")
    if not token:
        return
    incoming, live, outgoing = folder / _named("restoring", token) / "tree", folder / "live", folder / _named("outgoing", token)
    if incoming.exists():
        if live.exists():
            live.rename(outgoing)
        incoming.rename(live)
        sync_folder(folder)
    write_json(folder / "disk.json", {**record, "restoring": "", "tokens": [*record["tokens"], token]})
    remove_tree(outgoing)
    remove_tree(folder / _named("restoring", token))


def _saved(root: Root, folder: Path, request: SaveRequest) -> Revision:
    half = folder / "revisions" / ("." + _named("saving", request.token))
    half.mkdir(mode=0o700, exist_ok=True)
    about: dict[str, Any] = {"token": request.token, "number": request.number, "id": f"{request.disk_id}/{request.number}"}
    write_json(half / "half.json", about)
    until = root.wall.monotonic() + _SLICE.total_seconds()
    try:
        earlier = _latest_copy(folder)
        if not copy_tree(folder / "live", half / "tree", half / "manifest", lambda: root.wall.monotonic() < until, earlier):
            return _half(about)
        size_bytes = verify_tree(half / "tree", half / "manifest")
    except (NotQuietError, BrokenCopyError) as fault:
        remove_tree(half)
        return Revision(id=about["id"], number=request.number, state=RevisionState.FAILED, token=request.token, reason=str(fault))
    skipped = sum(entry.kind == "skipped" for entry in read_manifest(half / "manifest"))
    proof = {"size_bytes": size_bytes, "skipped": skipped, "digest": manifest_digest(half / "manifest")}
    write_json(half / "revision.json", {**about, **proof, "committed_at": format_time(root.wall.now())})
    (half / "half.json").unlink()
    target = folder / "revisions" / str(request.number)
    half.rename(target)
    sync_folder(target.parent)
    return _ready(read_json(target / "revision.json"))


def _latest_copy(folder: Path) -> EarlierCopy | None:
    """The newest revision, to share unchanged files with."""
    numbers = [int(path.name) for path in (folder / "revisions").iterdir() if path.name.isdigit()]
    return EarlierCopy.at(folder / "revisions" / str(max(numbers))) if numbers else None


def _revision_folder(folder: Path, disk_id: str, revision_id: str) -> Path | None:
    number = revision_id.removeprefix(f"{disk_id}/")
    revision = folder / "revisions" / number
    return revision if number.isdigit() and (revision / "revision.json").exists() else None


def _restored(folder: Path, revision: Path, record: Mapping[str, Any], token: str) -> Reply[None]:
    incoming = folder / _named("restoring", token)
    try:
        copy_tree(revision / "tree", incoming / "tree", incoming / "manifest", lambda: True)
        verify_tree(incoming / "tree", revision / "manifest")
    except (NotQuietError, BrokenCopyError) as fault:
        remove_tree(incoming)
        return Refused("Conflict", message=f"the revision can't be trusted: {fault}")
    write_json(folder / "disk.json", {**record, "restoring": token})
    mend(folder)
    return Done(None)


def _ready(record: Mapping[str, Any]) -> Revision:
    skipped = record["skipped"]
    return Revision(
        id=record["id"],
        number=record["number"],
        state=RevisionState.READY,
        token=record["token"],
        size_bytes=record["size_bytes"],
        digest=record["digest"],
        committed_at=parse_time(record["committed_at"]),
        reason=f"{skipped} sockets, pipes or devices were left out" if skipped else "",
    )


def _half(about: Mapping[str, Any]) -> Revision:
    return Revision(id=about["id"], number=about["number"], state=RevisionState.SAVING, token=about["token"])


def _named(what: str, token: str) -> str:
    return f"{what}-{hashlib.sha256(token.encode()).hexdigest()[:12]}"
