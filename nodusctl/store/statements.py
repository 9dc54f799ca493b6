"""Statements are built from the tables once, as module constants, compiled at their first run, and from then on only bound and run.

The surprise: they run on the driver's own cursor, inside SQLAlchemy's transaction. A step runs two dozen statements, and building or
binding each through SQLAlchemy costs 0.09 to 0.23 ms where SQLite itself needs 0.003. Rows are read by name or by place, with the
driver's own values (a boolean is 0 or 1 on SQLite, and a bool on PostgreSQL).

Lists travel as one JSON parameter, so that a statement's text doesn't depend on how many values it is asked for.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sqlalchemy import BindParameter, Column, ColumnElement, Table, bindparam
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.dml import Insert as AnyInsert

if TYPE_CHECKING:
    from sqlalchemy import ClauseElement, Connection

Parameters = Mapping[str, Any]


class Row(Protocol):
    """A row as both drivers give it: by name, by place, and in order."""

    def __getitem__(self, key: str | int, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...


class Statement:
    """One statement. Its parameters are the names of its ``bindparam`` or, for an insert, its columns: the same at every run.

    ``source`` may be made for a dialect, by its name, where the two differ.
    """

    __slots__ = ("_forms", "_source")

    def __init__(self, source: ClauseElement | Callable[[str], ClauseElement]) -> None:
        self._source = source
        self._forms: dict[str, _Form] = {}

    def rows(self, connection: Connection, **parameters: Any) -> list[Row]:
        """All rows it selects."""
        rows: list[Row] = self._run(connection, parameters).fetchall()
        return rows

    def each(self, connection: Connection, **parameters: Any) -> Iterator[Row]:
        """The same one by one, for what is too long to be held."""
        form = self._form(connection, parameters)
        return form.walk(connection, form.text, {**form.fixed, **parameters})

    def first(self, connection: Connection, **parameters: Any) -> Row | None:
        """The first row it selects."""
        row: Row | None = self._run(connection, parameters).fetchone()
        return row

    def values(self, connection: Connection, **parameters: Any) -> list[Any]:
        """The first column of all rows it selects."""
        return [row[0] for row in self._run(connection, parameters)]

    def change(self, connection: Connection, **parameters: Any) -> int:
        """How many rows it changed."""
        count: int = self._run(connection, parameters).rowcount
        return count

    def change_each(self, connection: Connection, rows: Sequence[Parameters]) -> None:
        """Run it once for every row."""
        if rows:
            form = self._form(connection, rows[0])
            form.cursor(connection).executemany(form.text, [{**form.fixed, **row} for row in rows])

    def _run(self, connection: Connection, parameters: Parameters) -> Any:
        form = self._form(connection, parameters)
        return form.cursor(connection).execute(form.text, {**form.fixed, **parameters})

    def _form(self, connection: Connection, parameters: Parameters) -> _Form:
        name = connection.dialect.name
        form = self._forms.get(name)
        if form is None:
            form = self._forms[name] = self._compiled(name, parameters)
        return form

    def _compiled(self, name: str, parameters: Parameters) -> _Form:
        source = self._source(name) if callable(self._source) else self._source
        columns = list(parameters) if isinstance(source, AnyInsert) else None
        if name == "postgresql":
            from nodusctl.store import postgres_rows

            # A row's number is the database's business: nobody asks for it back.
            source = source.inline() if isinstance(source, AnyInsert) else source
            compiled = source.compile(dialect=postgres_rows.DIALECT, column_keys=columns)
            return _Form(str(compiled), compiled.params, postgres_rows.cursor, postgres_rows.walk)
        compiled = source.compile(dialect=_SQLITE, column_keys=columns)
        return _Form(str(compiled), compiled.params, _sqlite_cursor, _sqlite_walk)


class _Form(NamedTuple):
    """A statement in one database's words. ``walk`` runs a text and gives its rows, of which it holds few at a time."""

    text: str
    fixed: Parameters
    cursor: Callable[[Connection], Any]
    walk: Callable[[Connection, str, Parameters], Iterator[Row]]


_SQLITE = sqlite.dialect(paramstyle="named")


def _sqlite_cursor(connection: Connection) -> sqlite3.Cursor:
    driver: Any = connection.connection.driver_connection
    cursor: sqlite3.Cursor = driver.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor


def _sqlite_walk(connection: Connection, text: str, parameters: Parameters) -> Iterator[Row]:
    return iter(_sqlite_cursor(connection).execute(text, parameters))


class _Among(ColumnElement[bool]):
    """See ``among``."""

    inherit_cache = True

    def __init__(self, column: Column[Any], parameter: str) -> None:
        self.column = column
        self.listing: BindParameter[Any] = bindparam(parameter)


@compiles(_Among)
def _among_in_sqlite(element: _Among, compiler: Any, **words: Any) -> str:
    column, listing = compiler.process(element.column, **words), compiler.process(element.listing, **words)
    return f"{column} IN (SELECT value FROM json_each({listing}))"


@compiles(_Among, "postgresql")
def _among_in_postgres(element: _Among, compiler: Any, **words: Any) -> str:
    column, listing = compiler.process(element.column, **words), compiler.process(element.listing, **words)
    return f"{column} IN (SELECT json_array_elements_text(CAST({listing} AS JSON)))"


def among(column: Column[Any], parameter: str) -> ColumnElement[bool]:
    """True for rows whose ``column`` is in the list given as ``parameter`` (see ``listed``)."""
    return _Among(column, parameter)


def listed(values: Iterable[str]) -> str:
    """A list as a parameter."""
    return json.dumps(list(values))


def put(table: Table) -> Callable[[str], ClauseElement]:
    """Insert a row, or replace all of the one with its primary key."""

    def made(dialect: str) -> ClauseElement:
        new: Any
        if dialect == "postgresql":
            from sqlalchemy.dialects import postgresql

            new = postgresql.insert(table)
        else:
            new = sqlite.insert(table)
        keys = {column.name for column in table.primary_key}
        others = {column.name: new.excluded[column.name] for column in table.columns if column.name not in keys}
        made: ClauseElement = new.on_conflict_do_update(index_elements=sorted(keys), set_=others)
        return made

    return made
