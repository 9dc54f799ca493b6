"""Operations: who consumed which plan, and what moved the serial."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.ports.journal import OperationNote
from nodusctl.store.schema import OPERATIONS

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row, Select

_NOTE = select(
    OPERATIONS.c.id,
    OPERATIONS.c.command,
    OPERATIONS.c.by,
    OPERATIONS.c.at,
    OPERATIONS.c.serial,
    OPERATIONS.c.plan_hash,
    OPERATIONS.c.plan_id,
).order_by(OPERATIONS.c.sequence.desc())


def note(connection: Connection, operation: OperationNote, *, has_moved_serial: bool, addresses: Sequence[str] = ()) -> None:
    """Write one operation."""
    row = {
        "id": operation.operation_id,
        "command": operation.command,
        "by": operation.by,
        "at": format_time(operation.at),
        "serial": operation.serial,
        "has_moved_serial": has_moved_serial,
        "plan_hash": operation.plan_hash,
        "plan_id": operation.plan_id,
        "addresses": json.dumps(list(addresses)),
    }
    connection.execute(insert(OPERATIONS), row)


def that_moved_serial(connection: Connection, limit: int) -> tuple[OperationNote, ...]:
    """Newest first."""
    return _notes(connection, _NOTE.where(OPERATIONS.c.has_moved_serial).limit(limit))


def consumed_by(connection: Connection, plan_hash: str, plan_id: str) -> OperationNote | None:
    """The operation that started this plan. A plan without an id was never in a file, so nothing else can start it."""
    if not plan_id:
        return None
    found = _notes(connection, _NOTE.where(OPERATIONS.c.plan_id == plan_id, OPERATIONS.c.plan_hash == plan_hash).limit(1))
    return found[0] if found else None


def _notes(connection: Connection, query: Select[tuple[str, str, str, str, int, str, str]]) -> tuple[OperationNote, ...]:
    return tuple(_note(row) for row in connection.execute(query))


def _note(row: Row[tuple[str, str, str, str, int, str, str]]) -> OperationNote:
    return OperationNote(
        operation_id=row.id,
        command=row.command,
        by=row.by,
        at=parse_time(row.at),
        serial=row.serial,
        plan_hash=row.plan_hash,
        plan_id=row.plan_id,
    )
