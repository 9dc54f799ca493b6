"""Passes of ``tick``, the last few hundred. Never part of the journal: that one keeps everything, and most passes find nothing due."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, select

from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.ports.passes import PassNote
from nodusctl.store.connections import Database
from nodusctl.store.freetext import without_secrets
from nodusctl.store.schema import PASSES
from nodusctl.store.statements import Statement

if TYPE_CHECKING:
    from sqlalchemy import Connection

_KEPT = 300
_ADD = Statement(insert(PASSES))
_newest = select(PASSES).order_by(PASSES.c.sequence.desc())
_LATEST = Statement(_newest.limit(bindparam("count")))
_FORGET = Statement(
    delete(PASSES).where(
        PASSES.c.sequence <= select(PASSES.c.sequence).order_by(PASSES.c.sequence.desc()).offset(_KEPT).limit(1).scalar_subquery()
    )
)


class SqlitePasses:
    """The passes table of one state file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, one: PassNote) -> None:
        one = without_secrets(one)
        # A pass that a power cut takes back is made again by the next one: nothing outside hangs on it.
        with self._database.write(is_durable=False) as connection:
            _ADD.change(
                connection,
                id=one.id,
                started_at=format_time(one.started_at),
                ended_at=format_time(one.ended_at),
                host=one.host,
                seen=json.dumps(list(one.seen)),
                failures=json.dumps(list(one.failures)),
                told=json.dumps(list(one.told)),
            )
            _FORGET.change(connection)

    def latest(self, limit: int = 20) -> tuple[PassNote, ...]:
        with self._database.read() as connection:
            return _latest(connection, limit) if connection is not None else ()


def _latest(connection: Connection, limit: int) -> tuple[PassNote, ...]:
    return tuple(_note(row) for row in _LATEST.rows(connection, count=limit))


def _note(row: sqlite3.Row) -> PassNote:
    return PassNote(
        id=row["id"],
        started_at=parse_time(row["started_at"]),
        ended_at=parse_time(row["ended_at"]),
        host=row["host"],
        seen=tuple(json.loads(row["seen"])),
        failures=tuple(json.loads(row["failures"])),
        told=tuple(json.loads(row["told"])),
    )
