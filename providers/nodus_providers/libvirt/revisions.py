"""Revisions of a disk: whole verified copies of the quiet qcow2, which nothing writes to again; restore, delete, read again.

We keep them ourselves, because libvirt can't go back to external snapshots before 9.10 and keeps internal ones in the very file they are
to save. Copying shares blocks where the file system can (reflink). It runs on the host by itself and is asked about, so neither a closed
laptop nor a slow disk cuts it off; what it has written counts only once its digest is the same as that of what it copied.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

from nodus_providers.libvirt.connection import Power
from nodus_providers.libvirt.hosts import Host
from nodus_providers.libvirt.machines import holder_of, ours
from nodus_providers.libvirt.volumes import NOT_FOUND, DiskRecord, observed_disk, read_disks, revision_in, write_record
from nodusctl.base.timestamps import format_time
from nodusctl.provider.machines import Disk, Revision, RevisionState
from nodusctl.provider.replies import Done, Refused, Reply, Unknown
from nodusctl.provider.requests import DeleteRevisionRequest, RestoreRequest, SaveRequest

_PATIENCE_SECONDS = 20
_VERIFY_SECONDS = 3600.0
_NO_REVISION = Refused("NotFound", message="there is no revision of this id")
# $1 folder, $2 source, $3 copy, $4 seconds to wait. The copy goes on by itself; its result is "ok DIGEST BYTES" or "failed WHY".
_COPY = """set -eu
cd "$1"; umask 077
copy='
source=$1 copy=$2
exec 9>"$copy.lock"
flock -n 9 || exit 0
[ ! -e "$copy.result" ] || exit 0
fail() { echo "failed $1" >"$copy.result.new"; mv "$copy.result.new" "$copy.result"; exit 0; }
rm -f "$copy"
status=0; qemu-img check -q "$source" >/dev/null 2>&1 || status=$?
case $status in 0 | 3) ;; *) fail "the file of the disk is damaged (qemu-img check says $status)" ;; esac
cp --reflink=auto --sparse=always "$source" "$copy" 2>/dev/null || fail "it could not be copied; is the file system of the host full?"
sync "$copy" 2>/dev/null || sync
made=$(sha256sum <"$copy") was=$(sha256sum <"$source")
[ "$made" = "$was" ] || fail "the copy is not what it was made from; was the disk written to meanwhile?"
echo "ok ${made%% *} $(($(stat -c %b "$copy") * 512))" >"$copy.result.new"; mv "$copy.result.new" "$copy.result"
'
if [ ! -e "$3.result" ]; then
    setsid sh -c "$copy" nodus-copy "$2" "$3" </dev/null >/dev/null 2>&1 &
fi
tries=0
while [ ! -e "$3.result" ] && [ $tries -lt $(($4 * 10)) ]; do sleep 0.1; tries=$((tries + 1)); done
[ ! -e "$3.result" ] || cat "$3.result"
"""
_HALF = 'set -eu\ncd "$1/revisions"; umask 077\ncat >".$2.new"; mv ".$2.new" "$2.json"\n'
_COMMIT = """set -eu
cd "$1/revisions"; umask 077
mv "$2" "$3.qcow2"
cat >".$3.new"; sync; mv ".$3.new" "$3.json"; sync
rm -f "$2".*
"""
_DROP_HALF = 'cd "$1/revisions" && rm -f "$2" "$2".*\n'
_SWAP = 'set -eu\ncd "$1"\nqemu-img resize -q "$2" "$3"\nsync\nmv "$2" live.qcow2; sync\nrm -f "$2".*\n'
_DROP = 'set -eu\ncd "$1/revisions"\nrm -f "$2.json"; sync; rm -f "$2.qcow2"\n'
_DIGEST = 'set -eu\nsha256sum <"$1/revisions/$2.qcow2" | cut -d" " -f1\n'


def save(host: Host, request: SaveRequest) -> Reply[Revision]:
    """Make revision ``number``, or go on making it; ``saving`` after 20 s. A copy that can't be trusted is ``failed``."""
    with host.locks.held(request.disk_id):
        records, revisions = read_disks(host, request.disk_id)
        if request.disk_id not in records:
            return NOT_FOUND
        for known in revisions[request.disk_id]:
            if known.number == request.number and known.state is RevisionState.READY:
                is_ours = known.token == request.token
                return Done(known) if is_ours else Refused("Conflict", message=f"revision {request.number} is there already")
        if holder := _writer(host, request.disk_id):
            return Refused("VolumeBusy", message=f"{holder} runs and writes to the disk")
        return Done(_saved(host, request))


def _saved(host: Host, request: SaveRequest) -> Revision:
    folder, half = host.disk_folder(request.disk_id), _named("saving", request.token)
    about: dict[str, Any] = {"token": request.token, "number": request.number, "id": f"{request.disk_id}/{request.number}"}
    host.shell.run(_HALF, folder, half, stdin=_line(about))
    result = _copied(host, folder, "live.qcow2", f"revisions/{half}")
    if not result:
        return revision_in(about)
    word, _, rest = result.partition(" ")
    if word != "ok":
        host.shell.run(_DROP_HALF, folder, half)
        return replace(revision_in(about), state=RevisionState.FAILED, reason=rest)
    digest, _, size = rest.partition(" ")
    whole = {**about, "digest": digest, "size_bytes": int(size), "committed_at": format_time(host.wall.now())}
    host.shell.run(_COMMIT, folder, half, str(request.number), stdin=_line(whole))
    return revision_in(whole)


def restore(host: Host, request: RestoreRequest) -> Reply[Disk]:
    """Make the live content equal to a revision. All or nothing; a repeated token changes nothing."""
    with host.locks.held(request.disk_id):
        records, revisions = read_disks(host, request.disk_id)
        record = records.get(request.disk_id)
        if record is None:
            return NOT_FOUND
        if request.token in record["tokens"]:
            return Done(observed_disk(host, request.disk_id))
        if holder := holder_of(host, request.disk_id):
            return Refused("VolumeBusy", message=f"the disk is attached to {holder}")
        revision = _ready(revisions[request.disk_id], request.revision_id)
        if revision is None:
            return _NO_REVISION
        return _restored(host, request, record, revision)


def _restored(host: Host, request: RestoreRequest, record: DiskRecord, revision: Revision) -> Reply[Disk]:
    folder, incoming = host.disk_folder(request.disk_id), _named("restoring", request.token)
    result = _copied(host, folder, f"revisions/{revision.number}.qcow2", incoming)
    if not result:
        return Unknown("the revision is still being copied")
    if result.split(" ")[:2] != ["ok", revision.digest]:
        why = result.partition(" ")[2] if result.startswith("failed") else "it is not what was saved"
        host.shell.run('cd "$1" && rm -f "$2" "$2".*\n', folder, incoming)
        return Refused("Conflict", message=f"the revision can't be trusted: {why}")
    host.shell.run(_SWAP, folder, incoming, str(record["size_bytes"]))
    write_record(host, request.disk_id, record, request.token)
    return Done(observed_disk(host, request.disk_id))


def delete_revision(host: Host, request: DeleteRevisionRequest) -> Reply[Disk]:
    """Delete one revision; it stops being one with its record. A repeated token is done."""
    with host.locks.held(request.disk_id):
        records, revisions = read_disks(host, request.disk_id)
        record = records.get(request.disk_id)
        if record is None:
            return NOT_FOUND
        if request.token not in record["tokens"]:
            revision = _ready(revisions[request.disk_id], request.revision_id)
            if revision is None:
                return _NO_REVISION
            host.shell.run(_DROP, host.disk_folder(request.disk_id), str(revision.number))
            write_record(host, request.disk_id, record, request.token)
        return Done(observed_disk(host, request.disk_id))


def verify_revision(host: Host, disk_id: str, revision_id: str) -> Reply[Revision]:
    """Read every byte of a revision again."""
    records, revisions = read_disks(host, disk_id)
    if disk_id not in records:
        return NOT_FOUND
    revision = _ready(revisions[disk_id], revision_id)
    if revision is None:
        return _NO_REVISION
    found = host.shell.run(_DIGEST, host.disk_folder(disk_id), str(revision.number), limit_seconds=_VERIFY_SECONDS).strip()
    if found == revision.digest:
        return Done(revision)
    return Done(replace(revision, state=RevisionState.FAILED, reason=f"its digest is {found} now, not the one it was saved with"))


def _copied(host: Host, folder: str, source: str, copy: str) -> str:
    return host.shell.run(_COPY, folder, source, copy, str(_PATIENCE_SECONDS), limit_seconds=_PATIENCE_SECONDS + 15).strip()


def _ready(revisions: tuple[Revision, ...], revision_id: str) -> Revision | None:
    return next((one for one in revisions if one.id == revision_id and one.state is RevisionState.READY), None)


def _writer(host: Host, disk_id: str) -> str:
    """The running machine that has the disk, or ""."""
    machines = ours(host.connection.domains(), host)
    found = (machine_id for machine_id, (domain, one) in machines.items() if disk_id in one.disk_ids and domain.power is not Power.OFF)
    return next(found, "")


def _named(what: str, token: str) -> str:
    return f".{what}-{hashlib.sha256(token.encode()).hexdigest()[:12]}"


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True).encode() + b"\n"
