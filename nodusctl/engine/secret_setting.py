"""``secret set``: one value of one Secret, given by hand, as a new version. Equal bytes are no new version.

The other keys keep what they have. The record changes with it (its key names, and a generation for the write), so that a plan made
before is found stale.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from datetime import timedelta

from nodusctl.base.diagnostics import error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address
from nodusctl.base.redaction import REDACTOR
from nodusctl.engine.locking import under_plan_lock
from nodusctl.executor.outside import Outside
from nodusctl.executor.pushing import vault_name
from nodusctl.ports.journal import Consumption
from nodusctl.state.records import PutRecord, Record
from nodusctl.state.snapshot import Standing
from nodusctl.state.status import ObjectStatus, Phase, SecretStanding


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOutcome:
    """Which version holds the value now, and whether it is a new one."""

    address: Address
    version: int
    is_new: bool


def set_value(address: Address, key: str, value: bytes, *, outside: Outside, command: str, lock_timeout: timedelta) -> SetOutcome:
    """Store ``value`` under ``key``, making the Secret where there is none. UserError for an empty value, or a Secret that is going."""
    if not value:
        raise UserError(error("Invalid", "The value is empty.", f"Nothing was read for {key} of {address}.", "Give it on stdin."))
    REDACTOR.remember(value.decode("utf-8", "replace"))
    return under_plan_lock(outside.claims, command, lock_timeout, lambda: _write(address, key, value, outside, command))


def _write(address: Address, key: str, value: bytes, outside: Outside, command: str) -> SetOutcome:
    snapshot = outside.journal.snapshot()
    standing = snapshot.get(address)
    if standing is not None and standing.record.deletion_requested_at is not None:
        raise UserError(error("Conflict", "The Secret is being removed.", f"{address} goes.", address=str(address)))
    text = base64.b64encode(value).decode()
    stored = standing.status.secret if standing is not None else None
    known = stored if stored is not None else SecretStanding(version=0, hmacs={})
    hmac = outside.journal.fingerprint_secret(text)
    if known.hmacs.get(key) == hmac:
        return SetOutcome(address=address, version=known.version, is_new=False)
    after = known.followed_by({**known.hmacs, key: hmac}, outside.clock.now(), outside.owner)
    record = _record(address, key, standing, outside)
    sealed = {vault_name(record.uid, after.version, key): text}
    for kept in known.hmacs.keys() - {key}:
        former = outside.journal.secret(vault_name(record.uid, known.version, kept))
        sealed |= {vault_name(record.uid, after.version, kept): former} if former is not None else {}
    status = replace(standing.status if standing is not None else ObjectStatus(phase=Phase.READY), secret=after)
    status = replace(status, observed_generation=record.generation)
    consumption = Consumption(
        operation_id=outside.ids.new_uid(),
        command=command,
        by=outside.owner,
        at=outside.clock.now(),
        lineage=snapshot.lineage or outside.ids.new_uid(),
        serial=snapshot.serial,
        plan_hash="",
        plan_id=outside.ids.new_uid(),
        action_addresses=(str(address),),
        records=(PutRecord(record),),
        statuses={record.uid: status},
        sealed=sealed,
        project=outside.project,
    )
    outside.journal.consume(consumption)
    return SetOutcome(address=address, version=after.version, is_new=True)


def _record(address: Address, key: str, standing: Standing | None, outside: Outside) -> Record:
    if standing is None:
        return Record(
            uid=outside.ids.new_uid(),
            address=address,
            generation=1,
            created_at=outside.clock.now(),
            spec={"type": "Opaque", "data": {key: ""}},
        )
    record = standing.record
    is_written = any(key in (record.spec.get(group) or ()) for group in ("data", "stringData", "valueFrom"))
    spec = dict(record.spec) if is_written else {**record.spec, "data": {**(record.spec.get("data") or {}), key: ""}}
    return replace(record, spec=spec, generation=record.generation + 1)
