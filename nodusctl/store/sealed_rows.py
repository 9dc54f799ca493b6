"""Sealed values as rows, and the state's memory of which key is its own.

The key's check is written with the first commit of a process that has used the key, be it only for fingerprints: from then on another
key is refused wherever it is used, not only where it fails to open something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, select, update

from nodusctl.store.schema import SEALED, STATE
from nodusctl.store.sealing import Vault
from nodusctl.store.statements import Statement, among, listed, put

if TYPE_CHECKING:
    from sqlalchemy import Connection

_PUT, _DROP = Statement(put(SEALED)), Statement(delete(SEALED).where(among(SEALED.c.name, "names")))
_DROP_BELOW = Statement(delete(SEALED).where(SEALED.c.name >= bindparam("least"), SEALED.c.name < bindparam("beyond")))
_VALUE = Statement(select(SEALED.c.value).where(SEALED.c.name == bindparam("which")))
_KEY_CHECK = Statement(select(STATE.c.key_check))
_KEEP_CHECK = Statement(update(STATE).where(STATE.c.key_check == "").values(key_check=bindparam("used")))


def write(connection: Connection, vault: Vault, sealed: Mapping[str, str], forgotten: Sequence[str] = ()) -> None:
    """Seal values under their names and delete the forgotten ones."""
    if forgotten:
        _DROP.change(connection, names=listed(forgotten))
    if sealed:
        closed = vault.close(key_check(connection), sealed)
        _PUT.change_each(connection, [{"name": name, "value": value} for name, value in closed.items()])
    if vault.used_check:
        _KEEP_CHECK.change(connection, used=vault.used_check)


def drop_below(connection: Connection, prefixes: Sequence[str]) -> None:
    """Delete every value whose name begins with one of ``prefixes``."""
    for prefix in prefixes:
        _DROP_BELOW.change(connection, least=prefix, beyond=prefix + "\U0010ffff")


def read(connection: Connection, vault: Vault, name: str) -> str | None:
    """The value in clear, known to the redactor from now on; None where there is none."""
    row = _VALUE.first(connection, which=name)
    return None if row is None else vault.open(key_check(connection), name, row["value"])


def key_check(connection: Connection | None) -> str:
    """How the state recognises its key; empty while any will do."""
    row = None if connection is None else _KEY_CHECK.first(connection)
    return "" if row is None else str(row["key_check"])
