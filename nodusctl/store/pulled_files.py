"""A pulled state as a file: one JSON document with a digest, checked row by row before anything of it is believed.

A file of an older version is brought up on the way: its rows go into an empty database in memory, of the revision they were written at, and
the same migrations run over them as over a state that was never pulled.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.intents import Intent
from nodusctl.base.canonical import digest
from nodusctl.base.exits import UserError
from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.ledger.entries import Entry
from nodusctl.ports.pulled import PulledState
from nodusctl.state.records import Record
from nodusctl.state.status import ObjectStatus
from nodusctl.store import faults, migrating, money, pulling
from nodusctl.store.codec import decode, decode_event
from nodusctl.store.revision import REVISION
from nodusctl.store.schema import METADATA

FORMAT = "nodusctl-state-1"
_TOLD = 5


def text_of(state: PulledState) -> str:
    """The file; a table's columns are named once, and each row stands on a line of its own."""
    document = _document(state)
    known = json.dumps({name: value for name, value in document.items() if name != "tables"}, indent=1)[:-2]
    tables = ",\n".join(_table_text(name, table) for name, table in document["tables"].items())
    return f'{known},\n "digest": "{digest(document)}",\n "tables": {{\n{tables}\n }}\n}}\n'


def _document(state: PulledState) -> dict[str, Any]:
    identity = state.identity
    tables = {}
    for name, rows in state.tables.items():
        columns = list(rows[0]) if rows else []
        tables[name] = {"columns": columns, "rows": [[row[column] for column in columns] for row in rows]}
    return {
        "format": FORMAT,
        "revision": state.revision,
        "lineage": identity.lineage,
        "serial": identity.serial,
        "project": identity.project,
        "pulledTime": format_time(state.pulled_at),
        "pulledBy": state.pulled_by,
        "numbers": dict(state.numbers),
        "tables": tables,
    }


def _table_text(name: str, table: Mapping[str, Any]) -> str:
    rows = ",\n".join(f"   {json.dumps(row)}" for row in table["rows"])
    lines = f"\n{rows}\n  " if rows else ""
    return f'  {json.dumps(name)}: {{"columns": {json.dumps(table["columns"])}, "rows": [{lines}]}}'


def read(path: Path, *, takes_edited: bool = False) -> PulledState:
    """The state in a file, of this version's schema. UserError as ``StateCopies.read`` says."""
    state = _read(path, takes_edited=takes_edited)
    if state.revision != REVISION:
        if not migrating.is_known(state.revision):
            raise faults.newer(path, f"schema revision {state.revision}")
        state = _brought_up(state, path)
    found = list(_faults(state))
    if found:
        raise faults.copy_unsound(path, found[:_TOLD], len(found))
    return state


def _read(path: Path, *, takes_edited: bool) -> PulledState:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise faults.copy_unreadable(path, problem.strerror or str(problem)) from None
    except (UnicodeDecodeError, ValueError):
        raise faults.copy_unreadable(path, "it is no JSON, or was cut short") from None
    if not isinstance(document, dict) or not str(document.get("format", "")).startswith("nodusctl-state-"):
        raise faults.copy_unreadable(path, "it is no pulled state")
    if document["format"] != FORMAT:
        raise faults.newer(path, f"format {document['format']}")
    claimed = document.pop("digest", "")
    try:
        if claimed != digest(document) and not takes_edited:
            raise faults.copy_edited(path)
        tables = {
            str(name): tuple(dict(zip(table["columns"], row, strict=True)) for row in table["rows"])
            for name, table in document["tables"].items()
        }
        return PulledState(
            revision=str(document["revision"]),
            pulled_at=parse_time(document["pulledTime"]),
            pulled_by=str(document["pulledBy"]),
            tables=tables,
            numbers={str(name): int(last) for name, last in document["numbers"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise faults.copy_unreadable(path, "parts of it are missing or have another form") from None


def _brought_up(state: PulledState, path: Path) -> PulledState:
    from sqlalchemy import MetaData, Table, create_engine, text
    from sqlalchemy.exc import SQLAlchemyError

    engine = create_engine("sqlite://")
    try:
        with engine.begin() as connection:
            migrating.upgrade(connection, state.revision)
            found = MetaData()
            for name, rows in state.tables.items():
                table = Table(name, found, autoload_with=connection)
                if rows:
                    connection.execute(table.insert(), [pulling.native(table, row) for row in rows])
            for name, last in state.numbers.items():
                connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": name})
                connection.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), {"name": name, "last": last})
            migrating.upgrade(connection)
            return pulling.pull(connection, by=state.pulled_by, at=state.pulled_at)
    except (SQLAlchemyError, KeyError, ValueError):
        raise faults.copy_unreadable(path, f"its rows don't fit the schema of revision {state.revision}") from None
    finally:
        engine.dispose()


def _faults(state: PulledState) -> Iterator[str]:
    """Everything that can't be what a nodusctl wrote. No text of a row is repeated."""
    unknown = set(state.tables) - set(METADATA.tables)
    if unknown:
        yield f"tables nobody knows: {', '.join(sorted(unknown))}"
        return
    for name, rows in state.tables.items():
        for place, row in enumerate(rows, start=1):
            try:
                pulling.native(METADATA.tables[name], row)
            except (KeyError, TypeError, ValueError):
                yield f"row {place} of {name} has another form"
                return
    heads = state.tables.get("state", ())
    if len(heads) != 1:
        yield "it holds no state" if not heads else "it holds several states"
        return
    yield from _unreadable(state)
    yield from _unbalanced(state)


def _unreadable(state: PulledState) -> Iterator[str]:
    kinds: tuple[tuple[str, type[Any]], ...] = (
        ("records", Record),
        ("statuses", ObjectStatus),
        ("intents", Intent),
        ("attempts", Attempt),
        ("entries", Entry),
    )
    for table, kind in kinds:
        for row in state.tables.get(table, ()):
            try:
                decode(kind, row["body"])
            except UserError:
                yield f"{table}: {row.get('uid') or row.get('id')} can't be read"
    for row in state.tables.get("journal", ()):
        try:
            decode_event(row["kind"], row["body"])
        except UserError:
            yield f"journal: event {row['sequence']} can't be read"


def _unbalanced(state: PulledState) -> Iterator[str]:
    """Postings are summed without their entries, so they must be the same money."""
    wanted: dict[tuple[object, object], dict[str, object]] = {}
    for row in state.tables.get("entries", ()):
        try:
            wanted |= {(one["entry_id"], one["position"]): one for one in money.posting_rows(decode(Entry, row["body"]))}
        except UserError:
            return
    stored = {(row["entry_id"], row["position"]): dict(row) for row in state.tables.get("postings", ())}
    if stored != wanted:
        yield "the postings are not those of the entries"


def with_serial(state: PulledState, serial: int) -> PulledState:
    """The same state at another serial."""
    (head,) = state.tables["state"]
    return replace(state, tables={**state.tables, "state": ({**head, "serial": serial},)})
