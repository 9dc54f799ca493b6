"""Records, the statuses beside them, and the state's own row with its serial.

A removed record takes its status along and leaves its name: the journal and the ledger still speak of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, select, update

from nodusctl.base.ids import Address
from nodusctl.base.timestamps import format_time
from nodusctl.state.records import PutRecord, Record, RecordChange
from nodusctl.state.status import ObjectStatus
from nodusctl.store.basis import changed_uid, moves_serial
from nodusctl.store.codec import decode, encode
from nodusctl.store.freetext import without_secrets
from nodusctl.store.schema import NAMES, RECORDS, STATE, STATUSES
from nodusctl.store.statements import Row, Statement, among, listed, put

if TYPE_CHECKING:
    from sqlalchemy import Connection

_HEAD, _FOUND = Statement(select(STATE)), Statement(insert(STATE))
_RAISE_SERIAL = Statement(update(STATE).values(serial=STATE.c.serial + 1))
_COUNT_OBSERVATION = Statement(update(STATE).values(observations=STATE.c.observations + 1))
_PUT_STATUS, _PUT_NAME, _ADD_RECORD = Statement(put(STATUSES)), Statement(put(NAMES)), Statement(insert(RECORDS))
_DROP_RECORDS = Statement(delete(RECORDS).where(among(RECORDS.c.uid, "uids")))
_DROP_STATUSES = Statement(delete(STATUSES).where(among(STATUSES.c.uid, "uids")))
_records = select(RECORDS.c.body).order_by(RECORDS.c.kind, RECORDS.c.name)
_ALL_RECORDS, _RECORDS_OF = Statement(_records), Statement(_records.where(among(RECORDS.c.uid, "uids")))
_RECORDS_OF_KIND = Statement(_records.where(RECORDS.c.kind == bindparam("which")))
_statuses = select(STATUSES.c.uid, STATUSES.c.body)
_ALL_STATUSES, _STATUSES_OF = Statement(_statuses), Statement(_statuses.where(among(STATUSES.c.uid, "uids")))
_NAME_OF = Statement(select(NAMES.c.kind, NAMES.c.name).where(NAMES.c.uid == bindparam("which")))


def head(connection: Connection) -> Row | None:
    """The state's row; None before the first consumption."""
    return _HEAD.first(connection)


def found_state(connection: Connection, lineage: str, project: str, at: datetime) -> None:
    """Create the state's row at serial 0."""
    created_at = format_time(at)
    _FOUND.change(connection, id=1, lineage=lineage, project=project, serial=0, observations=0, key_check="", created_at=created_at)


def raise_serial(connection: Connection) -> int:
    """The next serial, written."""
    _RAISE_SERIAL.change(connection)
    row = head(connection)
    return int(row["serial"]) if row is not None else 0


def write_statuses(connection: Connection, statuses: Mapping[str, ObjectStatus]) -> None:
    """Replace the statuses of the given uids."""
    if statuses:
        _PUT_STATUS.change_each(connection, [{"uid": uid, "body": encode(without_secrets(status))} for uid, status in statuses.items()])
        _COUNT_OBSERVATION.change(connection)


def write_records(connection: Connection, changes: Sequence[RecordChange]) -> bool:
    """Apply changes as one set, so that two objects may swap names; True where the serial must move."""
    if not changes:
        return False
    uids = [changed_uid(change) for change in changes]
    before = {record.uid: record for record in records(connection, uids)}
    after = {change.record.uid: change.record for change in changes if isinstance(change, PutRecord)}
    _DROP_RECORDS.change(connection, uids=listed(uids))
    _DROP_STATUSES.change(connection, uids=listed(uid for uid in uids if uid not in after))
    if after:
        _ADD_RECORD.change_each(connection, [{**_name(record), "body": encode(record)} for record in after.values()])
        _PUT_NAME.change_each(connection, [_name(record) for record in after.values()])
    return any(moves_serial(before.get(uid), after.get(uid)) for uid in uids)


def records(connection: Connection, uids: Sequence[str] | None = None) -> tuple[Record, ...]:
    """Records sorted by address; of the given uids, or all."""
    bodies = _ALL_RECORDS.values(connection) if uids is None else _RECORDS_OF.values(connection, uids=listed(uids))
    return tuple(decode(Record, body) for body in bodies)


def records_of_kind(connection: Connection, kind: str) -> tuple[Record, ...]:
    """Records of one kind, sorted by name."""
    return tuple(decode(Record, body) for body in _RECORDS_OF_KIND.values(connection, which=kind))


def statuses(connection: Connection, uids: Sequence[str] | None = None) -> Mapping[str, ObjectStatus]:
    """Statuses by uid."""
    found = _ALL_STATUSES.rows(connection) if uids is None else _STATUSES_OF.rows(connection, uids=listed(uids))
    return {uid: decode(ObjectStatus, body) for uid, body in found}


def address_of(connection: Connection, uid: str) -> Address | None:
    """The address a uid has, or had last."""
    row = _NAME_OF.first(connection, which=uid)
    return Address(row["kind"], row["name"]) if row else None


def _name(record: Record) -> dict[str, str]:
    return {"uid": record.uid, "kind": record.address.kind, "name": record.address.name}
