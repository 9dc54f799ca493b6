"""``open`` and ``close``: the two moments at which the outside half of the state changes, each all or none.

Both look at the claim first. SQLite's write lock is taken before that look, so nobody can preempt between the look and the commit.
StaleClaim and HoldRefused come before anything was written: that is what lets one commit hold the steps of many objects, and leave out
a lost one.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

from nodusctl.attempts.events import Event
from nodusctl.ports.journal import Change, Claim, Closing, HoldRefused, Opening, StaleClaim
from nodusctl.store import claiming, desired, intentions, journaling, money, operations, sealed_rows
from nodusctl.store.basis import sealed_prefixes, step_note

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nodusctl.store.sealing import Vault
    from nodusctl.store.tallies import LedgerTally


def commit(connection: Connection, vault: Vault, tally: LedgerTally, changes: Iterable[Change], at: datetime) -> frozenset[Claim]:
    """Carry changes out in order; the claims that were lost, whose changes are left out. A hold that finds no room loses its claim."""
    lost: set[Claim] = set()
    events: list[Event] = []
    for change in changes:
        claim = change if isinstance(change, Claim) else change.claim
        if claim in lost:
            continue
        try:
            events += _carry_out(connection, vault, tally, change, at)
        except StaleClaim:
            lost.add(claim)
        except HoldRefused:
            claiming.give_back(connection, claim)
            lost.add(claim)
    # All at once, so that an Attempt that several changes speak of is read and written once.
    journaling.append(connection, events)
    return frozenset(lost)


def _carry_out(connection: Connection, vault: Vault, tally: LedgerTally, change: Change, at: datetime) -> tuple[Event, ...]:
    match change:
        case Opening():
            return _opened(connection, vault, tally, change)
        case Closing():
            return _closed(connection, vault, change, at)
        case Claim():
            claiming.give_back(connection, change)
            return ()
        case _:
            assert_never(change)


def open_step(connection: Connection, vault: Vault, tally: LedgerTally, opening: Opening) -> None:
    """Commit what is about to be done; StaleClaim where the claim was lost, HoldRefused where a limit has no room for its holds."""
    journaling.append(connection, _opened(connection, vault, tally, opening))


def close_step(connection: Connection, vault: Vault, closing: Closing, at: datetime) -> None:
    """Commit what came of it; StaleClaim where the claim was lost or the intent is no longer open."""
    journaling.append(connection, _closed(connection, vault, closing, at))


def _opened(connection: Connection, vault: Vault, tally: LedgerTally, opening: Opening) -> tuple[Event, ...]:
    """All but the events, which are returned."""
    claiming.require(connection, opening.claim)
    if opening.guards:
        tally.require_room(connection, opening.guards, opening.entries)
    sealed_rows.write(connection, vault, opening.sealed)
    intentions.add(connection, opening.intent)
    money.append(connection, opening.entries)
    desired.write_statuses(connection, opening.statuses)
    return opening.events


def _closed(connection: Connection, vault: Vault, closing: Closing, at: datetime) -> tuple[Event, ...]:
    """All but the events, which are returned."""
    command = claiming.require(connection, closing.claim)
    if closing.intent is not None:
        intentions.move_on(connection, closing.intent)
    sealed_rows.write(connection, vault, closing.sealed, closing.forgotten)
    money.append(connection, closing.entries)
    desired.write_statuses(connection, closing.statuses)
    sealed_rows.drop_below(connection, sealed_prefixes(closing.records))
    if desired.write_records(connection, closing.records):
        operations.note(connection, step_note(desired.raise_serial(connection), command, closing, at), has_moved_serial=True)
    return closing.events
