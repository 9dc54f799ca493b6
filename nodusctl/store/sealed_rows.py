"""Sealed values as rows, the state's memory of which key is its own, and the copies it holds of that key for members.

The key's check is written with the first commit of a process that has used the key, be it only for fingerprints: from then on another
key is refused wherever it is used, not only where it fails to open something.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, select, update

from nodusctl.store.schema import KEY_COPIES, SEALED, STATE
from nodusctl.store.sealing import Ring, Vault
from nodusctl.store.seals import KeyCopy
from nodusctl.store.statements import Statement, among, listed, put

if TYPE_CHECKING:
    from sqlalchemy import Connection

_PUT, _DROP = Statement(put(SEALED)), Statement(delete(SEALED).where(among(SEALED.c.name, "names")))
_DROP_BELOW = Statement(delete(SEALED).where(SEALED.c.name >= bindparam("least"), SEALED.c.name < bindparam("beyond")))
_VALUE = Statement(select(SEALED.c.value).where(SEALED.c.name == bindparam("which")))
_KEY_CHECK = Statement(select(STATE.c.key_check))
_ALL = Statement(select(SEALED).order_by(SEALED.c.name))
_COPY = tuple(column.name for column in KEY_COPIES.columns)
_COPIES, _PUT_COPY = Statement(select(KEY_COPIES).order_by(KEY_COPIES.c.member)), Statement(put(KEY_COPIES))
_DROP_COPIES = Statement(delete(KEY_COPIES).where(among(KEY_COPIES.c.member, "members")))
_SET_CHECK = Statement(update(STATE).values(key_check=bindparam("now")))
_KEEP_CHECK = Statement(update(STATE).where(STATE.c.key_check == "").values(key_check=bindparam("used")))


def write(connection: Connection, vault: Vault, sealed: Mapping[str, str], forgotten: Sequence[str] = ()) -> None:
    """Seal values under their names and delete the forgotten ones."""
    if forgotten:
        _DROP.change(connection, names=listed(forgotten))
    if sealed:
        closed = vault.close(ring(connection), sealed)
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
    return None if row is None else vault.open(ring(connection), name, row["value"])


def ring(connection: Connection) -> Ring:
    """How the state recognises its key. Its copies are read while the connection's transaction lasts, if at all."""
    row = _KEY_CHECK.first(connection)
    return Ring("" if row is None else str(row["key_check"]), lambda: copies(connection))


def whole_ring(connection: Connection) -> Ring:
    """The same with the copies read now."""
    found, known = ring(connection), copies(connection)
    return Ring(found.check, lambda: known)


def copies(connection: Connection) -> tuple[KeyCopy, ...]:
    """Copies of the state's key, by member."""
    return tuple(KeyCopy(**{name: row[name] for name in _COPY}) for row in _COPIES.rows(connection))


def put_copies(connection: Connection, new: Iterable[KeyCopy]) -> None:
    """Write copies, each in the place of its member's former one."""
    _PUT_COPY.change_each(connection, [{name: getattr(copy, name) for name in _COPY} for copy in new])


def drop_copies(connection: Connection, members: Iterable[str]) -> None:
    """Forget members."""
    _DROP_COPIES.change(connection, members=listed(members))


def all_sealed(connection: Connection) -> Mapping[str, bytes]:
    """Every value as it is stored, by name."""
    return {row["name"]: bytes(row["value"]) for row in _ALL.rows(connection)}


def replace_sealed(connection: Connection, values: Mapping[str, bytes]) -> None:
    """Write values that are sealed already."""
    _PUT.change_each(connection, [{"name": name, "value": value} for name, value in values.items()])


def set_check(connection: Connection, check: str) -> None:
    """From now on the state recognises another key as its own."""
    _SET_CHECK.change(connection, now=check)
