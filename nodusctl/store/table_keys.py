"""A state's key and what hangs on it, as rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nodusctl.store import desired, journaling, sealed_rows
from nodusctl.store.databases import Database
from nodusctl.store.keyed import Keyed
from nodusctl.store.sealing import NO_RING, Ring

if TYPE_CHECKING:
    from sqlalchemy import Connection


class TableKeyedStore:
    """Of the state in ``database``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ring(self) -> Ring:
        return self._database.reading(sealed_rows.whole_ring, NO_RING)

    def change(self, step: Callable[[Keyed], Keyed]) -> Keyed:
        def act(connection: Connection) -> Keyed:
            before = _read(connection)
            after = step(before)
            _write(connection, before, after)
            return after

        return self._database.changing(act)


def _read(connection: Connection) -> Keyed:
    found = sealed_rows.whole_ring(connection)
    return Keyed(
        exists=desired.head(connection) is not None,
        check=found.check,
        copies={copy.member: copy for copy in found.copies()},
        sealed=sealed_rows.all_sealed(connection),
        statuses={uid: status for uid, status in desired.statuses(connection).items() if status.secret is not None},
    )


def _write(connection: Connection, before: Keyed, after: Keyed) -> None:
    sealed_rows.replace_sealed(connection, {name: value for name, value in after.sealed.items() if value != before.sealed.get(name)})
    desired.write_statuses(connection, {uid: status for uid, status in after.statuses.items() if status != before.statuses.get(uid)})
    if after.check != before.check:
        sealed_rows.set_check(connection, after.check)
    sealed_rows.drop_copies(connection, [member for member in before.copies if member not in after.copies])
    sealed_rows.put_copies(connection, [copy for member, copy in after.copies.items() if copy != before.copies.get(member)])
    journaling.append(connection, after.remarks)
