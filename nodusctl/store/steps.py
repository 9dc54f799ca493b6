"""``open`` and ``close``: the two moments at which the outside half of the state changes, each all or none.

Both look at the claim first. SQLite's write lock is taken before that look, so nobody can preempt between the look and the commit.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from nodusctl.ports.journal import Closing, Opening
from nodusctl.store import claiming, desired, intentions, journaling, money, operations, sealed_rows
from nodusctl.store.basis import sealed_prefixes, step_note

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nodusctl.store.sealing import Vault


def open_step(connection: Connection, vault: Vault, opening: Opening) -> None:
    """Commit what is about to be done; StaleClaim where the claim was lost."""
    claiming.require(connection, opening.claim)
    sealed_rows.write(connection, vault, opening.sealed)
    intentions.add(connection, opening.intent)
    journaling.append(connection, opening.events)
    money.append(connection, opening.entries)
    desired.write_statuses(connection, opening.statuses)


def close_step(connection: Connection, vault: Vault, closing: Closing, at: datetime) -> None:
    """Commit what came of it; StaleClaim where the claim was lost or the intent is no longer open."""
    seat = claiming.require(connection, closing.claim)
    sealed_rows.write(connection, vault, closing.sealed, closing.forgotten)
    if closing.intent is not None:
        intentions.move_on(connection, closing.intent)
    journaling.append(connection, closing.events)
    money.append(connection, closing.entries)
    desired.write_statuses(connection, closing.statuses)
    sealed_rows.drop_below(connection, sealed_prefixes(closing.records))
    if desired.write_records(connection, closing.records):
        operations.note(connection, step_note(desired.raise_serial(connection), seat.holder.command, closing, at), has_moved_serial=True)
