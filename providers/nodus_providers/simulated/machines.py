"""Machines of the world: launch, look, release, kill. Each function runs inside one transaction.

Billing starts when a launch is accepted. A boot takes exactly the world's p50, so that receipts repeat. The armed edge counts from the
acceptance too: a machine that never comes up ends there as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace

from nodus_providers.simulated.database import Transaction
from nodus_providers.simulated.effects import Gone, Lie, NoEdge, Quota, VisibleAfter
from nodus_providers.simulated.gate import Effects, is_unreachable
from nodus_providers.simulated.instants import SECOND, moment_or_none, span_micro
from nodus_providers.simulated.rows import OF_TOKEN, DiskRow, MachineRow, TokenRow
from nodus_providers.simulated.timeline import ENDED, Due, advance, end, remind
from nodus_providers.simulated.views import machine_view, shown_machine
from nodus_providers.simulated.world import World
from nodusctl.base.canonical import digest
from nodusctl.provider.machines import Machine, MachineState, Release, ReleaseState
from nodusctl.provider.replies import Done, Refused, Reply, Scope
from nodusctl.provider.requests import LaunchRequest, ReleaseRequest
from nodusctl.provider.tokens import ownership_of

_LIVE = "account = ? AND state NOT IN ('terminated', 'gone')"


def address_in(tags: Mapping[str, str]) -> str:
    """Whose thing this is, by its tags; empty where they aren't ours."""
    ownership = ownership_of(tags)
    return ownership.address if ownership else ""


def launch(tx: Transaction, world: World, request: LaunchRequest, effects: Effects) -> Reply[Machine]:
    """Accept or refuse a launch; a repeated token finds its machine where creates are idempotent."""
    request_digest = launch_digest(request)
    if world.manners.create_is_idempotent:
        earlier = tx.row(MachineRow, OF_TOKEN, request.token, world.account)
        if earlier is not None:
            return _repeated(tx, world, earlier, request_digest)
    if refusal := _unsound(tx, world, request) or _unavailable(tx, world, request, effects):
        return refusal
    row = _new_machine(tx, world, request, request_digest, effects)
    tx.put(row)
    remind(tx, row.boots_at, Due.BOOT, row.id)
    if row.edge_at is not None:
        remind(tx, row.edge_at, Due.EDGE, row.id)
    for attachment in request.disks:
        disk = tx.rows(DiskRow, "id = ?", attachment.disk_id)[0]
        tx.put(replace(disk, attached_to=row.id, is_read_only=int(attachment.is_read_only)))
    advance(tx, world, tx.now)
    return Done(shown_machine(tx, world, tx.rows(MachineRow, "id = ?", row.id)[0], effects))


def launch_digest(request: LaunchRequest) -> str:
    """What must be equal for a repeated token to mean the same machine."""
    return digest(
        {
            "name": request.name,
            "offer": [request.offer_id, request.instance_type, request.zone, request.is_interruptible, list(request.unit_ids)],
            "image": request.image,
            "boot": hashlib.sha256(request.boot.encode()).hexdigest(),
            "edge": request.edge_seconds,
            "disk": request.disk_bytes,
            "disks": [[disk.disk_id, disk.mount_path, disk.is_read_only] for disk in request.disks],
            "maximum": str(request.max_rate_usd_per_hour),
            "tags": dict(request.tags),
        }
    )


def observe(tx: Transaction, world: World, machine_id: str, effects: Effects) -> Machine:
    """One machine as reported; one that isn't there, or isn't visible yet, is gone."""
    row = tx.row(MachineRow, "id = ? AND account = ? AND visible_at <= ?", machine_id, world.account, tx.now)
    return Machine(id=machine_id, state=MachineState.GONE) if row is None else shown_machine(tx, world, row, effects)


def release(tx: Transaction, world: World, request: ReleaseRequest, effects: Effects) -> Reply[Release]:
    """Begin a release, or say how far it is. An id this account never had is NotFound."""
    row = tx.row(MachineRow, "id = ? AND account = ?", request.machine_id, world.account)
    if row is None or effects.first(Gone, row.address):
        return Refused("NotFound", Scope.REQUEST, f"there is no machine {request.machine_id}")
    tx.put(TokenRow(token=request.token, operation="delete", request_digest="", kind="machine", subject=row.id))
    if (lie := effects.first(Lie, row.address)) and lie.state in ENDED:
        return Done(Release(state=ReleaseState.GONE, ended_at=moment_or_none(tx.now)))
    if row.state == MachineState.TERMINATED:
        end(tx, world, row, tx.now, state=MachineState.GONE, reason=row.reason)
    elif row.state != MachineState.GONE and row.gone_at is None:
        row = replace(row, gone_at=tx.now + span_micro(world.times.release), reason=row.reason or "released")
        tx.put(row)
        remind(tx, row.gone_at or tx.now, Due.DELETION, row.id)
        advance(tx, world, tx.now)
    now = tx.rows(MachineRow, "id = ?", row.id)[0]
    if now.state != MachineState.GONE:
        return Done(Release(state=ReleaseState.RELEASING))
    return Done(Release(state=ReleaseState.GONE, ended_at=moment_or_none(now.ended_at)))


def machines_shown(tx: Transaction, world: World, effects: Effects) -> tuple[Machine, ...]:
    """Every tagged machine that isn't gone, in the order made."""
    rows = tx.rows(MachineRow, "account = ? AND state != 'gone' AND visible_at <= ?", world.account, tx.now, order="id")
    shown = (shown_machine(tx, world, row, effects) for row in rows if _is_tagged(row))
    return tuple(machine for machine in shown if machine.state is not MachineState.GONE)


def all_machines(tx: Transaction, world: World, include_ended: bool) -> tuple[Machine, ...]:
    """The world's machines, faults, accounts and visibility aside."""
    rows = tx.rows(MachineRow, order="id")
    return tuple(machine_view(tx, world, row) for row in rows if include_ended or row.state not in ENDED)


def kill(tx: Transaction, world: World, machine_id: str) -> bool:
    """The machine's host dies now; False where there is no such live machine."""
    row = tx.row(MachineRow, "id = ?", machine_id)
    if row is None or row.state in ENDED:
        return False
    end(tx, world, row, tx.now, state=MachineState.TERMINATED, reason="killed", detail="its host failed")
    return True


def _repeated(tx: Transaction, world: World, earlier: MachineRow, request_digest: str) -> Reply[Machine]:
    if earlier.request_digest != request_digest:
        return Refused("IdempotencyKeyReused", Scope.REQUEST, "this client token was used with other parameters")
    if earlier.state in ENDED:
        return Refused("IdempotencyKeyReused", Scope.REQUEST, "the machine of this client token has ended")
    return Done(machine_view(tx, world, earlier))


def _unsound(tx: Transaction, world: World, request: LaunchRequest) -> Refused | None:
    line = world.line(request.offer_id)
    said = ""
    if line is None:
        said = f"there is no offer {request.offer_id}"
    elif request.zone not in line.zones:
        said = f"{request.offer_id} is not sold in the zone {request.zone}"
    elif request.instance_type != line.instance_type:
        said = f"{request.offer_id} is the type {line.instance_type}, not {request.instance_type}"
    elif request.is_interruptible and line.spot_rate is None:
        said = f"{request.offer_id} is not sold as interruptible"
    elif request.edge_seconds <= 0:
        said = "the armed edge must lie ahead"
    elif world.manners.boot_limit is not None and len(request.boot.encode()) > world.manners.boot_limit:
        said = f"the first-boot document is larger than {world.manners.boot_limit} bytes"
    elif request.disks and not world.manners.attaches_at_launch:
        said = "disks are attached after the launch here"
    if said:
        return Refused("Invalid", Scope.REQUEST, said)
    return _unattachable(tx, request)


def _unattachable(tx: Transaction, request: LaunchRequest) -> Refused | None:
    for attachment in request.disks:
        disk = tx.row(DiskRow, "id = ? AND state = 'ready'", attachment.disk_id)
        if disk is None:
            return Refused("NotFound", Scope.REQUEST, f"there is no disk {attachment.disk_id}")
        if disk.zone != request.zone:
            return Refused("Invalid", Scope.REQUEST, f"the disk {disk.id} is in the zone {disk.zone}")
        if disk.attached_to:
            return Refused("VolumeBusy", Scope.REQUEST, f"the disk {disk.id} is attached to {disk.attached_to}")
    return None


def _unavailable(tx: Transaction, world: World, request: LaunchRequest, effects: Effects) -> Refused | None:
    quota = effects.first(Quota)
    limits = [limit for limit in (world.quotas.machines, quota.limit if quota else None) if limit is not None]
    if limits and (live := tx.count(MachineRow, _LIVE, world.account)) >= min(limits):
        return Refused("QuotaExceeded", Scope.ACCOUNT, f"the account may hold {min(limits)} machines and holds {live}")
    line = world.line(request.offer_id)
    if line is None:
        return None
    if line.capacity is not None and occupied(tx, world, request.offer_id, request.zone) >= line.capacity:
        return Refused("CapacityUnavailable", Scope.ZONE, f"{request.offer_id} is sold out in {request.zone}")
    most = request.max_rate_usd_per_hour
    if request.is_interruptible and most is not None and line.spot_rate is not None and line.spot_rate > most:
        return Refused("CapacityUnavailable", Scope.ZONE, f"the rate is {line.spot_rate}, above the maximum {most}")
    return None


def occupied(tx: Transaction, world: World, offer_id: str, zone: str) -> int:
    """How many live machines of an offer a zone holds."""
    return tx.count(MachineRow, f"{_LIVE} AND offer_id = ? AND zone = ?", world.account, offer_id, zone)


def _new_machine(tx: Transaction, world: World, request: LaunchRequest, request_digest: str, effects: Effects) -> MachineRow:
    now, hidden = tx.now, effects.first(VisibleAfter)
    tags = dict(request.tags)
    address = address_in(tags)
    return MachineRow(
        id=f"i-{tx.next_number('machine'):06d}",
        account=world.account,
        token=request.token,
        request_digest=request_digest,
        name=request.name,
        zone=request.zone,
        offer_id=request.offer_id,
        is_interruptible=int(request.is_interruptible),
        tags=json.dumps(tags),
        address=address,
        state=MachineState.PENDING,
        created_at=now,
        visible_at=now + span_micro(hidden.delay) if hidden else now,
        boots_at=now + span_micro(world.times.boot_p50),
        idle_seconds=_idle_seconds(request.boot),
        edge_at=None if effects.first(NoEdge) else now + request.edge_seconds * SECOND,
        is_unreachable=int(is_unreachable(tx, (address,), "create")),
    )


def _idle_seconds(boot: str) -> int | None:
    """The idle timeout in a first-boot document; None for never, and where the document doesn't say."""
    try:
        said = json.loads(boot).get("idle_timeout_seconds")
    except (ValueError, AttributeError):
        return None
    return said if isinstance(said, int) and said > 0 else None


def _is_tagged(row: MachineRow) -> bool:
    return any(name.startswith("nodus") for name in json.loads(row.tags))
