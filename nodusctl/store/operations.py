"""Operations: who consumed which plan, and what moved the serial."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, select

from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.ports.journal import OperationNote
from nodusctl.store.freetext import without_secrets
from nodusctl.store.schema import OPERATIONS
from nodusctl.store.statements import Row, Statement

if TYPE_CHECKING:
    from sqlalchemy import Connection

_ADD = Statement(insert(OPERATIONS))
_newest_first = select(OPERATIONS).order_by(OPERATIONS.c.sequence.desc())
_THAT_MOVED = Statement(_newest_first.where(OPERATIONS.c.has_moved_serial).limit(bindparam("count")))
_CONSUMED_BY = Statement(_newest_first.where(OPERATIONS.c.plan_id == bindparam("plan"), OPERATIONS.c.plan_hash == bindparam("digest")))


def note(connection: Connection, operation: OperationNote, *, has_moved_serial: bool) -> None:
    """Write one operation."""
    operation = without_secrets(operation)
    row = {
        "id": operation.operation_id,
        "command": operation.command,
        "by": operation.by,
        "at": format_time(operation.at),
        "serial": operation.serial,
        "has_moved_serial": has_moved_serial,
        "plan_hash": operation.plan_hash,
        "plan_id": operation.plan_id,
        "addresses": json.dumps(list(operation.addresses)),
    }
    _ADD.change(connection, **row)


def that_moved_serial(connection: Connection, limit: int) -> tuple[OperationNote, ...]:
    """Newest first."""
    return tuple(_note(row) for row in _THAT_MOVED.rows(connection, count=limit))


def consumed_by(connection: Connection, plan_hash: str, plan_id: str) -> OperationNote | None:
    """The operation that started this plan. A plan without an id was never in a file, so nothing else can start it."""
    row = _CONSUMED_BY.first(connection, plan=plan_id, digest=plan_hash) if plan_id else None
    return _note(row) if row is not None else None


def _note(row: Row) -> OperationNote:
    return OperationNote(
        operation_id=row["id"],
        command=row["command"],
        by=row["by"],
        at=parse_time(row["at"]),
        serial=row["serial"],
        plan_hash=row["plan_hash"],
        plan_id=row["plan_id"],
        addresses=tuple(json.loads(row["addresses"])),
    )
