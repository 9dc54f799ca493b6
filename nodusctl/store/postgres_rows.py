"""Rows from PostgreSQL: read by name or by place, with sums as whole numbers.

The surprise: PostgreSQL gives the sum of whole numbers as a decimal fraction. All fractions here are such sums, so they are read as the
whole numbers they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from psycopg import Connection as Driver
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Loader
from sqlalchemy.dialects.postgresql import psycopg as flavour

if TYPE_CHECKING:
    from psycopg import Cursor
    from sqlalchemy import Connection

DIALECT = flavour.dialect(paramstyle="pyformat")  # type: ignore[no-untyped-call]
_WALKED_AT_ONCE = 500
_NUMBERS = itertools.count(1)


class NamedRow(tuple[Any, ...]):
    """A tuple whose members also go by the names of their columns."""

    __slots__ = ()
    _places: dict[str, int] = {}

    def __getitem__(self, key: Any) -> Any:
        return tuple.__getitem__(self, self._places[key] if isinstance(key, str) else key)


def by_name(cursor: Cursor[Any]) -> Callable[[Sequence[Any]], NamedRow]:
    """A row factory of psycopg."""
    return _kind_of(tuple(column.name for column in cursor.description or ()))


@lru_cache(maxsize=256)
def _kind_of(columns: tuple[str, ...]) -> type[NamedRow]:
    return type("NamedRow", (NamedRow,), {"__slots__": (), "_places": {name: place for place, name in enumerate(columns)}})


class _WholeLoader(Loader):
    def load(self, data: Buffer) -> int:
        return int(bytes(data))


def read_sums_as_whole(driver: AdaptContext) -> None:
    """Have ``driver`` read decimal fractions as whole numbers; ValueError for one that isn't whole."""
    driver.adapters.register_loader("numeric", _WholeLoader)


def driver_of(connection: Connection) -> Driver[Any]:
    """The driver's connection inside SQLAlchemy's."""
    driver: Any = connection.connection.driver_connection
    found: Driver[Any] = driver
    return found


def cursor(connection: Connection) -> Cursor[Any]:
    """A cursor that takes all its rows at once."""
    return driver_of(connection).cursor(row_factory=by_name)


def walk(connection: Connection, text: str, parameters: Mapping[str, Any]) -> Iterator[NamedRow]:
    """Rows that stay with the server until they are asked for; only inside a transaction."""
    with driver_of(connection).cursor(name=f"walk_{next(_NUMBERS)}", row_factory=by_name) as walking:
        walking.itersize = _WALKED_AT_ONCE
        yield from walking.execute(text.encode(), parameters)
