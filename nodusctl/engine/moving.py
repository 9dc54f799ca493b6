"""``state mv``: another name for an object that keeps its uid, and with it its machine, home and money. Nothing outside is touched.

Objects that name it are rewritten in the same transaction, so that the state never names what isn't there. The files are the person's:
until they say the new name too, a plan would remove the one and make the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.engine.locking import under_plan_lock
from nodusctl.engine.naming import unknown_object
from nodusctl.ports.claims import Claims, Liveness
from nodusctl.ports.journal import Consumption, Journal
from nodusctl.resources.kinds import KINDS
from nodusctl.resources.references import addresses_named
from nodusctl.state.records import PutRecord, Record
from nodusctl.state.snapshot import Snapshot
from nodusctl.state.status import ObjectStatus

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What would be written: the renamed record, and those that name it (``followers``)."""

    old: Address
    new: Address
    record: Record
    followers: tuple[Record, ...]
    statuses: Mapping[str, ObjectStatus]
    serial: int
    lineage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MovableState:
    """A state open for writing."""

    journal: Journal
    claims: Claims


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """Who moves it, with which command, when, under which operation id."""

    operation_id: str
    command: str
    by: str
    at: datetime


def plan_move(old: Address, new: Address, snapshot: Snapshot) -> Move:
    """The move as a value. UserError for an unknown object, another kind, a name that is taken or can't be one."""
    standing = snapshot.get(old)
    if standing is None:
        raise UserError(unknown_object(old, sorted(snapshot.standings)))
    _refuse_bad_name(old, new, snapshot)
    followers = tuple(_follower(one.record, old, new) for one in snapshot if old in addresses_named(_kind_of(one.record), one.record.spec))
    return Move(
        old=old,
        new=new,
        record=replace(standing.record, address=new),
        followers=followers,
        statuses=dict(_statuses(snapshot, old, new)),
        serial=snapshot.serial,
        lineage=snapshot.lineage,
    )


def carry_out_move(old: Address, new: Address, *, state: MovableState, mover: Mover, lock_timeout: timedelta) -> Move:
    """Under the plan lock: compare again and write, in one transaction. UserError for a lock that is held (13), an object at work."""

    def act() -> Move:
        move = plan_move(old, new, state.journal.snapshot())
        _refuse_at_work(move, state.claims)
        state.journal.consume(_consumption(move, mover))
        return move

    return under_plan_lock(state.claims, mover.command, lock_timeout, act)


def _consumption(move: Move, mover: Mover) -> Consumption:
    return Consumption(
        operation_id=mover.operation_id,
        command=mover.command,
        by=mover.by,
        at=mover.at,
        lineage=move.lineage,
        serial=move.serial,
        plan_hash="",
        plan_id="",
        action_addresses=(str(move.old), str(move.new)),
        records=tuple(PutRecord(record) for record in (move.record, *move.followers)),
        statuses=move.statuses,
    )


def _refuse_at_work(move: Move, claims: Claims) -> None:
    """Whoever works on one of these objects still knows it by its old name and would write that back."""
    uids = {record.uid for record in (move.record, *move.followers)}
    for uid, step, holder, liveness in claims.claimed():
        if uid in uids and liveness is not Liveness.DEAD:
            detail = f"{step} by {holder.user}@{holder.host}, pid {holder.pid}: {holder.command}."
            raise UserError(error("Conflict", "Another command works on this object", detail, "Wait until it has ended, then repeat."))


def _refuse_bad_name(old: Address, new: Address, snapshot: Snapshot) -> None:
    if old.kind != new.kind:
        raise UserError(error("Invalid", "A move keeps the kind", f"{old} can't become {new}.", f"nodusctl state mv {old} {old.kind}/NAME"))
    if not _NAME.match(new.name):
        detail = f"It says {new.name!r}."
        raise UserError(
            error("Invalid", "The new name is no DNS label", detail, "Use lower-case letters, digits and inner dashes, at most 63.")
        )
    if snapshot.get(new) is not None:
        raise UserError(error("AlreadyExists", "The new name is taken", f"The state has {new}.", f"nodusctl get {new}", address=str(new)))


def _kind_of(record: Record) -> str:
    return next((facts.kind for facts in KINDS.values() if facts.singular == record.address.kind), "")


def _follower(record: Record, old: Address, new: Address) -> Record:
    """The record with the new name wherever it named the old object, in the live spec and in the one its file wrote."""
    applied = _renamed(dict(record.applied), old, new) if record.applied is not None else None
    return replace(record, spec=_renamed(dict(record.spec), old, new), applied=applied)


def _renamed(spec: dict[str, Any], old: Address, new: Address) -> dict[str, Any]:
    match old.kind:
        case "volume":
            return _with_volume(spec, old.name, new.name)
        case "secret":
            return _with_secret(spec, old.name, new.name)
        case "sshkey" if "sshKeys" in spec:
            return {**spec, "sshKeys": [new.name if name == old.name else name for name in spec["sshKeys"]]}
        case "pool" if "placement" in spec:
            return {**spec, "placement": _swapped(spec["placement"], "pool", old.name, new.name)}
        case _:
            return spec


def _with_volume(spec: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    spec = _swapped(spec, "volume", old, new)
    return {**spec, "volumes": [_swapped(mount, "volume", old, new) for mount in spec["volumes"]]} if "volumes" in spec else spec


def _with_secret(spec: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    for field in ("imagePullSecrets", "secrets"):
        if field in spec:
            spec = {**spec, field: [_secret_name(one, old, new) for one in spec[field]]}
    if "env" in spec:
        spec = {**spec, "env": [_env(one, old, new) for one in spec["env"]]}
    if "sidecars" in spec:
        spec = {**spec, "sidecars": [_with_secret(dict(one), old, new) for one in spec["sidecars"]]}
    return spec


def _secret_name(written: Any, old: str, new: str) -> Any:
    if isinstance(written, Mapping):
        return _swapped(written, "name", old, new)
    return new if written == old else written


def _env(variable: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    source = variable.get("valueFrom")
    if not isinstance(source, Mapping) or "secretKeyRef" not in source:
        return dict(variable)
    return {**variable, "valueFrom": {**source, "secretKeyRef": _swapped(source["secretKeyRef"], "name", old, new)}}


def _swapped(mapping: Mapping[str, Any], key: str, old: str, new: str) -> dict[str, Any]:
    return {**mapping, key: new} if mapping.get(key) == old else dict(mapping)


def _statuses(snapshot: Snapshot, old: Address, new: Address) -> Iterator[tuple[str, ObjectStatus]]:
    """Volumes that say who holds them follow the holder's name."""
    for one in snapshot:
        volume = one.status.volume
        if volume is not None and volume.holder is not None and volume.holder.address == old:
            yield one.record.uid, replace(one.status, volume=replace(volume, holder=replace(volume.holder, address=new)))
