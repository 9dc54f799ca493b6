"""Passes of ``tick``, the last few hundred. Never part of the journal: that one keeps everything, and most passes find nothing due."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, select

from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.lifecycle.news import overrun, save_failure
from nodusctl.lifecycle.passing import brief_of
from nodusctl.ports.passes import Glance, PassNote
from nodusctl.state.snapshot import Snapshot
from nodusctl.store import reading
from nodusctl.store.databases import Database
from nodusctl.store.freetext import without_secrets
from nodusctl.store.revision import PASSES_KEPT
from nodusctl.store.schema import PASSES
from nodusctl.store.statements import Row, Statement

if TYPE_CHECKING:
    from sqlalchemy import Connection

_ADD = Statement(insert(PASSES))
_newest = select(PASSES).order_by(PASSES.c.sequence.desc())
_LATEST = Statement(_newest.limit(bindparam("count")))
_FORGET = Statement(
    delete(PASSES).where(
        PASSES.c.sequence <= select(PASSES.c.sequence).order_by(PASSES.c.sequence.desc()).offset(PASSES_KEPT).limit(1).scalar_subquery()
    )
)


class TablePasses:
    """The passes table of one state."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def glance(self) -> Glance:
        snapshot = self._snapshot()
        return Glance(lineage=snapshot.lineage, briefs=tuple(brief_of(one) for one in snapshot))

    def may_be_news(self) -> bool:
        return any(overrun(one) is not None or save_failure(one.status) is not None for one in self._snapshot())

    def _snapshot(self) -> Snapshot:
        return self._database.reading(reading.snapshot, Snapshot())

    def note(self, one: PassNote) -> None:
        one = without_secrets(one)
        # A pass that a power cut takes back is made again by the next one: nothing outside hangs on it.
        self._database.changing(lambda connection: _add(connection, one), is_durable=False)

    def latest(self, limit: int = 20) -> tuple[PassNote, ...]:
        return self._database.reading(lambda connection: _latest(connection, limit), ())


def _add(connection: Connection, one: PassNote) -> None:
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


def _latest(connection: Connection, limit: int) -> tuple[PassNote, ...]:
    return tuple(_note(row) for row in _LATEST.rows(connection, count=limit))


def _note(row: Row) -> PassNote:
    return PassNote(
        id=row["id"],
        started_at=parse_time(row["started_at"]),
        ended_at=parse_time(row["ended_at"]),
        host=row["host"],
        seen=tuple(json.loads(row["seen"])),
        failures=tuple(json.loads(row["failures"])),
        told=tuple(json.loads(row["told"])),
    )
