"""A whole state in tables: pulled, kept and replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from nodusctl.attempts.events import Remarked
from nodusctl.base.clock import Wall
from nodusctl.ports.claims import Liveness
from nodusctl.ports.journal import OperationNote
from nodusctl.ports.pulled import Backup, Identity, PulledState, Replaced, Replacement
from nodusctl.store import claiming, desired, journaling, operations, pulled_files, pulling
from nodusctl.store.backups import Backups
from nodusctl.store.databases import Database
from nodusctl.store.revision import REVISION
from nodusctl.store.seats import work

if TYPE_CHECKING:
    from sqlalchemy import Connection


class TableCopies:
    """Of the state in ``database``; kept states go to ``backups``. By ``wall`` claims of others are judged."""

    def __init__(self, database: Database, backups: Backups, wall: Wall) -> None:
        self._database, self._backups, self._wall = database, backups, wall

    def identity(self) -> Identity:
        return self._database.reading(self._identity, Identity())

    def _identity(self, connection: Connection) -> Identity:
        now = self._wall.now()
        found = ((seat, work(seat, now)) for seat in claiming.held(connection))
        at_work = tuple(
            f"{desired.address_of(connection, seat.object_uid) or seat.object_uid}: {one.shown}"
            for seat, one in found
            if one is not None and one.liveness is not Liveness.DEAD and one.ends_in > timedelta(0)
        )
        return replace(pulling.identity(connection), at_work=at_work)

    def pull(self, by: str, at: datetime) -> PulledState:
        nothing: Mapping[str, int] = {}
        empty = PulledState(revision=REVISION, pulled_at=at, pulled_by=by, tables={}, numbers=nothing)
        return self._database.reading(lambda connection: pulling.pull(connection, by=by, at=at), empty)

    def text_of(self, state: PulledState) -> str:
        return pulled_files.text_of(state)

    def read(self, path: Path, *, takes_edited: bool = False) -> PulledState:
        return pulled_files.read(path, takes_edited=takes_edited)

    def replace(self, replacement: Replacement) -> Replaced:
        return self._database.changing(lambda connection: self._replace(connection, replacement))

    def _replace(self, connection: Connection, asked: Replacement) -> Replaced:
        present = self._identity(connection)
        asked.check(present)
        kept = self._backups.keep(pulling.pull(connection, by=asked.by, at=asked.at), asked.why) if present.lineage else None
        serial = asked.serial(present.serial)
        pulling.replace_all(connection, pulled_files.with_serial(asked.state, serial))
        journaling.append(connection, [Remarked(time=asked.at, object_uid="", code=asked.code, message=asked.message)])
        note = OperationNote(
            operation_id=asked.operation_id, command=asked.command, by=asked.by, at=asked.at, serial=serial, plan_hash="", plan_id=""
        )
        operations.note(connection, note, has_moved_serial=True)
        assert desired.head(connection) is not None, "a pulled state has a head"
        return Replaced(serial=serial, backup=kept.path if kept is not None else None)

    def keep(self, why: str, by: str, at: datetime) -> Backup:
        return self._backups.keep(self.pull(by, at), why)

    def backups(self) -> tuple[Backup, ...]:
        return self._backups.all()
