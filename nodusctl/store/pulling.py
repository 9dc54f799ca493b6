"""Whole states out of tables and into them, row by row, whatever the database and the schema's revision.

Tables that refuse changes are told not to while a state is put in place of another: that is the one moment at which the past is another
past. It is one transaction, so nobody ever sees half of each.

The surprise: claims are not replaced but ended, those of both states. Whoever holds one learns with the next commit that what it knew is
gone, and no number is ever given to a second claim of one object.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Boolean, LargeBinary, MetaData, Table, delete, func, insert, select, text

from nodusctl.ports.pulled import NO_ROW, Identity, LastRow, PulledState
from nodusctl.store import migrating
from nodusctl.store.rules import append_only
from nodusctl.store.schema import APPEND_ONLY, CLAIMS, ENTRIES, JOURNAL, METADATA, NUMBERED, PLAN_LOCK, STATE, VERSION
from nodusctl.store.statements import Statement

if TYPE_CHECKING:
    from sqlalchemy import Connection

_BINARY = "base64"
_OURS_ALONE = frozenset({VERSION.name, PLAN_LOCK.name, "turns", "numbers"})
_AT_ONCE = 500
_REPLACED = tuple(table for table in METADATA.sorted_tables if table.name not in {*_OURS_ALONE, CLAIMS.name})
_ADD = {table.name: Statement(insert(table)) for table in (*_REPLACED, CLAIMS)}
_COUNTED = {"sqlite": "SELECT name, seq FROM sqlite_sequence", "postgresql": "SELECT name, last FROM numbers"}


def pull(connection: Connection, *, by: str, at: datetime) -> PulledState:
    """Everything, as ``connection`` sees it; its schema may be older than this version's."""
    names = sorted(name for name in migrating.tables_of(connection) if name not in _OURS_ALONE and not name.startswith("sqlite_"))
    found = MetaData()
    tables = {name: tuple(_rows(connection, Table(name, found, autoload_with=connection))) for name in names}
    counted = {str(name): int(last) for name, last in connection.execute(text(_COUNTED[connection.dialect.name]))}
    return PulledState(
        revision=migrating.revision_of(connection),
        pulled_at=at,
        pulled_by=by,
        tables=tables,
        numbers={name: counted.get(name, 0) for name in names if name in counted},
    )


def _rows(connection: Connection, table: Table) -> Iterator[Mapping[str, Any]]:
    in_order = select(table).order_by(*table.primary_key.columns)
    for row in connection.execute(in_order).mappings():
        yield {name: _portable(value) for name, value in row.items()}


def _portable(value: Any) -> Any:
    return {_BINARY: base64.b64encode(bytes(value)).decode()} if isinstance(value, bytes | memoryview) else value


def native(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as a database takes it. KeyError or ValueError for one that isn't this table's."""
    if set(row) != set(table.columns.keys()):
        raise ValueError(f"a row of {table.name} has other columns")
    return {column.name: _native(column.type, row[column.name]) for column in table.columns}


def _native(kind: Any, value: Any) -> Any:
    if isinstance(kind, LargeBinary):
        return base64.b64decode(value[_BINARY], validate=True)
    return bool(value) if isinstance(kind, Boolean) else value


def identity(connection: Connection) -> Identity:
    """Which state is there."""
    head = connection.execute(select(STATE)).mappings().first()
    if head is None:
        return Identity()
    return Identity(
        lineage=head["lineage"],
        project=head["project"],
        serial=head["serial"],
        last_event=_last(connection, JOURNAL),
        last_entry=_last(connection, ENTRIES),
    )


def _last(connection: Connection, table: Table) -> LastRow:
    newest = select(table.c.sequence, table.c.body).order_by(table.c.sequence.desc()).limit(1)
    row = connection.execute(newest).first()
    return LastRow(row[0], row[1]) if row is not None else NO_ROW


def replace_all(connection: Connection, state: PulledState) -> None:
    """Put ``state``, of this version's schema, in the place of what is there. The plan lock is left to who holds it."""
    _allow_changes(connection)
    for table in _REPLACED:
        connection.execute(delete(table))
        _add(connection, table, (native(table, row) for row in state.tables.get(table.name, ())))
    _end_claims(connection, state)
    _count_on(connection, state)
    _refuse_changes(connection)


def _end_claims(connection: Connection, state: PulledState) -> None:
    """Claims of both states given back, each under the higher of both numbers and one more."""
    ended = {row["object_uid"]: dict(row) for row in connection.execute(select(CLAIMS)).mappings()}
    for row in state.tables.get(CLAIMS.name, ()):
        claim = native(CLAIMS, row)
        known = ended.get(claim["object_uid"])
        if known is None or known["fence"] < claim["fence"]:
            ended[claim["object_uid"]] = claim
    connection.execute(delete(CLAIMS))
    _add(connection, CLAIMS, ({**claim, "fence": claim["fence"] + 1, "is_held": False} for claim in ended.values()))


def _add(connection: Connection, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    waiting: list[dict[str, Any]] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) >= _AT_ONCE:
            _ADD[table.name].change_each(connection, waiting)
            waiting = []
    _ADD[table.name].change_each(connection, waiting)


def _count_on(connection: Connection, state: PulledState) -> None:
    """Numbers go on from where they were, so that rows that are missing are still missed."""
    for table in NUMBERED:
        last = state.numbers.get(table.name, 0)
        highest = connection.execute(select(func.coalesce(func.max(table.c.sequence), 0))).scalar_one()
        known = {"name": table.name, "last": max(last, highest)}
        if connection.dialect.name == "postgresql":
            connection.execute(text("UPDATE numbers SET last = :last WHERE name = :name"), known)
        else:
            connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), known)
            connection.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), known)


def _allow_changes(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        for table in {*APPEND_ONLY, *NUMBERED}:
            connection.execute(text(f"ALTER TABLE {table.name} DISABLE TRIGGER USER"))
        return
    for table in APPEND_ONLY:
        for verb in ("update", "delete"):
            connection.execute(text(f"DROP TRIGGER {table.name}_refuses_{verb}"))


def _refuse_changes(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        for table in {*APPEND_ONLY, *NUMBERED}:
            connection.execute(text(f"ALTER TABLE {table.name} ENABLE TRIGGER USER"))
        return
    for table in APPEND_ONLY:
        for statement in append_only(table.name, "sqlite"):
            connection.execute(text(statement))
