"""Names of what a state holds, for completing words: one read with the driver alone, because SQLAlchemy would take longer than the person.

Whatever goes wrong is an empty answer. A completion that prints an error into a half-typed line helps nobody.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from nodusctl.base.ids import Address

_OBJECTS = "SELECT kind, name FROM records ORDER BY kind, name"
_ATTEMPTS = "SELECT 'attempt', json_extract(body, '$.name') FROM attempts ORDER BY sequence"
_BUSY_SECONDS = 0.2


def names_in(path: Path) -> tuple[Address, ...]:
    """Addresses of objects and Attempts in the state at ``path``; empty where it can't be read. Changes no byte of it."""
    if not path.is_file():
        return ()
    try:
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
        try:
            rows = [*connection.execute(_OBJECTS), *connection.execute(_ATTEMPTS)]
        finally:
            connection.close()
    except sqlite3.Error:
        return ()
    return tuple(Address(kind, name) for kind, name in rows)
