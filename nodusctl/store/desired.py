"""Records, the statuses beside them, and the state's own row with its serial.

A removed record takes its status along and leaves its name: the journal and the ledger still speak of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, insert, select, update

from nodusctl.base.ids import Address
from nodusctl.base.timestamps import format_time
from nodusctl.state.records import PutRecord, Record, RecordChange
from nodusctl.state.status import ObjectStatus
from nodusctl.store.basis import changed_uid, moves_serial
from nodusctl.store.codec import decode, encode
from nodusctl.store.freetext import without_secrets
from nodusctl.store.schema import NAMES, RECORDS, STATE, STATUSES
from nodusctl.store.statements import among, listed, put

if TYPE_CHECKING:
    from sqlalchemy import Connection

_HEAD = select(STATE)
_FOUND = insert(STATE)
_RAISE_SERIAL = update(STATE).values(serial=STATE.c.serial + 1)
_COUNT_OBSERVATION = update(STATE).values(observations=STATE.c.observations + 1)
_SERIAL = select(STATE.c.serial)
_PUT_STATUS, _PUT_NAME, _ADD_RECORD = put(STATUSES), put(NAMES), insert(RECORDS)
_DROP_RECORDS = delete(RECORDS).where(among(RECORDS.c.uid, "uids"))
_DROP_STATUSES = delete(STATUSES).where(among(STATUSES.c.uid, "uids"))
_ALL_RECORDS = select(RECORDS.c.body).order_by(RECORDS.c.kind, RECORDS.c.name)
_RECORDS_OF = _ALL_RECORDS.where(among(RECORDS.c.uid, "uids"))
_ALL_STATUSES = select(STATUSES.c.uid, STATUSES.c.body)
_STATUSES_OF = _ALL_STATUSES.where(among(STATUSES.c.uid, "uids"))
_NAME_OF = select(NAMES.c.kind, NAMES.c.name).where(NAMES.c.uid == bindparam("which"))


def head(connection: Connection) -> Mapping[Any, Any] | None:
    """The state's row; None before the first consumption."""
    return connection.execute(_HEAD).mappings().first()


def found_state(connection: Connection, lineage: str, project: str, at: datetime) -> None:
    """Create the state's row at serial 0."""
    row = {"id": 1, "lineage": lineage, "project": project, "serial": 0, "observations": 0, "key_check": "", "created_at": format_time(at)}
    connection.execute(_FOUND, row)


def raise_serial(connection: Connection) -> int:
    """The next serial, written."""
    connection.execute(_RAISE_SERIAL)
    return int(connection.execute(_SERIAL).scalar_one())


def write_statuses(connection: Connection, statuses: Mapping[str, ObjectStatus]) -> None:
    """Replace the statuses of the given uids."""
    if statuses:
        connection.execute(_PUT_STATUS, [{"uid": uid, "body": encode(without_secrets(status))} for uid, status in statuses.items()])
        connection.execute(_COUNT_OBSERVATION)


def write_records(connection: Connection, changes: Sequence[RecordChange]) -> bool:
    """Apply changes as one set, so that two objects may swap names; True where the serial must move."""
    if not changes:
        return False
    uids = [changed_uid(change) for change in changes]
    before = {record.uid: record for record in records(connection, uids)}
    after = {change.record.uid: change.record for change in changes if isinstance(change, PutRecord)}
    connection.execute(_DROP_RECORDS, {"uids": listed(uids)})
    connection.execute(_DROP_STATUSES, {"uids": listed(uid for uid in uids if uid not in after)})
    if after:
        connection.execute(_ADD_RECORD, [{**_name(record), "body": encode(record)} for record in after.values()])
        connection.execute(_PUT_NAME, [_name(record) for record in after.values()])
    return any(moves_serial(before.get(uid), after.get(uid)) for uid in uids)


def records(connection: Connection, uids: Sequence[str] | None = None) -> tuple[Record, ...]:
    """Records sorted by address; of the given uids, or all."""
    found = connection.execute(_ALL_RECORDS) if uids is None else connection.execute(_RECORDS_OF, {"uids": listed(uids)})
    return tuple(decode(Record, body) for body in found.scalars())


def statuses(connection: Connection, uids: Sequence[str] | None = None) -> Mapping[str, ObjectStatus]:
    """Statuses by uid."""
    found = connection.execute(_ALL_STATUSES) if uids is None else connection.execute(_STATUSES_OF, {"uids": listed(uids)})
    return {uid: decode(ObjectStatus, body) for uid, body in found}


def address_of(connection: Connection, uid: str) -> Address | None:
    """The address a uid has, or had last."""
    row = connection.execute(_NAME_OF, {"which": uid}).first()
    return Address(row.kind, row.name) if row else None


def _name(record: Record) -> dict[str, str]:
    return {"uid": record.uid, "kind": record.address.kind, "name": record.address.name}
