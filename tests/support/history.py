"""Pasts: finished Attempts with every event and entry that a session leaves behind, as values or written into a state.

Nothing is applied: events are values of ``attempts.events``, entries are made by ``ledger.build`` and ``pricing.charge``, and both go in
through the store's own ``append``. So what is read back was stored exactly as a session stores it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from nodusctl.attempts import events as facts
from nodusctl.attempts.attempt import fold
from nodusctl.base.clock import SystemWall
from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money
from nodusctl.ledger import build
from nodusctl.ledger.build import AttemptBalance, Subject
from nodusctl.ledger.entries import Entry
from nodusctl.pricing.charge import charge, elapsed_seconds
from nodusctl.provider.machines import Machine, MachineState
from nodusctl.state.terms import Terms, ceiling
from nodusctl.store import journaling, money
from nodusctl.store.book import Book
from nodusctl.store.connections import SqliteDatabase
from nodusctl.store.memory_books import MemoryBooks

START = datetime(2024, 1, 1, 8, 0, tzinfo=UTC)
OWNERS = 50
LEASE = timedelta(hours=8)
_BATCH = 500
_MARK = "-0000-4000-"
"""Part of every Attempt uid; another one makes another Attempt of every row that names it."""


def terms_of(number: int = 0, **changes: Any) -> Terms:
    """Terms with a rate, an increment and a minimum of their own."""
    rate = Money(200_000 + number % 7 * 333_333)
    made = Terms(
        offer_key=f"sim/us-1a/cpu-{number % 7}",
        offering=f"cpu-{number % 7}",
        provider="sim",
        instance_type="sim.c4",
        region="us-1",
        zone="us-1a",
        location="acct/us-1a",
        region_class="us",
        rate_usd_per_hour=rate,
        ceiling_usd_per_hour=ceiling(rate),
        price_origin="quoted",
        price_source="world",
        price_observed_at=START,
        book_version="b1",
        increment_seconds=(1, 60, 3600)[number % 3],
        minimum_seconds=60,
        stop_bound=timedelta(seconds=60),
        startup_p50=timedelta(seconds=45),
        startup_p90=timedelta(seconds=60),
    )
    return replace(made, **changes)


@dataclass(frozen=True, kw_only=True)
class Past:
    """One Attempt's events and entries."""

    events: tuple[facts.Event, ...]
    entries: tuple[Entry, ...]

    @property
    def uid(self) -> str:
        return self.events[0].attempt_uid

    @property
    def subject(self) -> Subject:
        queued = self.events[0]
        assert isinstance(queued, facts.AttemptQueued)
        return Subject(object_address=str(queued.owner), object_uid=queued.object_uid, attempt_uid=queued.attempt_uid)


def session(
    number: int = 0, *, terms: Terms | None = None, replaces: str = "", queued_at: datetime | None = None, **spans: timedelta
) -> Past:
    """Session ``number``: queued, launched, ready, stopped and settled; ``boots``, ``runs`` and ``stops`` are how long each takes."""
    owner, kept = number % OWNERS, terms or terms_of(number)
    object_uid, uid = f"uid-{owner}", f"{number:08x}{_MARK}8000-000000000000"
    address = Address("workspace", f"ws-{owner:03d}")
    queued = queued_at or START + timedelta(minutes=number)
    began = queued + timedelta(seconds=2, microseconds=number * 7 % 1_000_000)
    ready = began + spans.get("boots", timedelta(seconds=30 + number % 40))
    stop = ready + spans.get("runs", timedelta(minutes=5 + number * 7 % 400, microseconds=number * 13))
    ended = stop + spans.get("stops", timedelta(seconds=20 + number % 25))
    of_it: dict[str, Any] = {"object_uid": object_uid, "attempt_uid": uid}
    machine = Machine(id=f"i-{number}", state=MachineState.RUNNING, created_at=began, billing_started_at=began, disk_ids=(f"d-{owner}",))
    name, edge = f"{address.name}-{number // OWNERS + 1}", queued + LEASE
    happened: tuple[facts.Event, ...] = (
        facts.AttemptQueued(time=queued, owner=address, name=name, slot="0", epoch=1, replaces=replaces, **of_it),
        facts.TermsFrozen(time=queued, terms=kept, token=f"t{number}", try_number=1, bootstrap_host_key="k", edge_at=edge, **of_it),
        facts.LaunchAccepted(time=began, machine=machine, **of_it),
        facts.PhaseChanged(time=began, before="Pending", after="Starting", **of_it),
        facts.KeysHandedOver(time=ready, host_key="ssh-ed25519 AAAA", **of_it),
        facts.EdgeArmed(time=ready, until=edge, **of_it),
        facts.SecretsPushed(time=ready, versions={}, keys_digest="d", **of_it),
        facts.BecameReady(time=ready, ready_at=ready, **of_it),
        facts.StopAsked(time=stop, reason="Owner", **of_it),
        facts.WentQuiet(time=stop, is_quiet=True, **of_it),
        facts.MachineSeen(time=ended, machine=replace(machine, state=MachineState.STOPPED, ended_at=ended), **of_it),
        facts.CapacityEnded(time=ended, ended_at=ended, **of_it),
        facts.AttemptClosed(time=ended, phase="Succeeded", **of_it),
    )
    subject = Subject(object_address=str(address), object_uid=object_uid, attempt_uid=uid)
    return Past(events=happened, entries=tuple(_entries(number, subject, kept, began, ended)))


def _entries(number: int, subject: Subject, terms: Terms, began: datetime, ended: datetime) -> Iterator[Entry]:
    """A hold, in every fourth session a capture half-way, the last capture, and the rest of the hold."""
    uid, held, captured = subject.attempt_uid, cost(terms, LEASE + terms.stop_bound), ZERO
    yield build.hold(f"{uid}/hold/1", began, subject, held, memo="before the launch")
    if number % 4 == 0:
        captured = charge(elapsed_seconds((ended - began) / 2), terms.rate_usd_per_hour)
        yield build.capture(f"{uid}/capture/1", began + (ended - began) / 2, subject, captured, held_now=held)
        held -= captured
    balance = AttemptBalance(held=held, charged=captured)
    ids = (f"{uid}/capture/final", f"{uid}/release/final")
    yield from build.settle_attempt(ids, ended, subject, total_charge=cost(terms, ended - began), balance=balance)


def cost(terms: Terms, span: timedelta) -> Money:
    """The charge of ``span`` on these terms."""
    return charge(elapsed_seconds(span), terms.rate_usd_per_hour, terms.increment_seconds, terms.minimum_seconds)


def books_of(*pasts: Past, entries: Iterable[Entry] | None = None) -> MemoryBooks:
    """Books that hold these pasts; ``entries`` in place of their own."""
    events = tuple(event for past in pasts for event in past.events)
    posted = tuple(entries) if entries is not None else tuple(entry for past in pasts for entry in past.entries)
    return MemoryBooks(Book(lineage="l", events=events, entries=posted, attempts={one.uid: one for one in fold(events)}))


def write_history(path: Path, count: int, *, pasts: Iterable[Past] | None = None) -> Money:
    """Write sessions 0 to ``count`` into a new state at ``path``; what they cost together."""
    database, total = SqliteDatabase(path, SystemWall(), is_read_only=False), ZERO
    coming = iter(pasts) if pasts is not None else (session(number) for number in range(count))
    while batch := list(islice(coming, _BATCH)):
        posted = [entry for past in batch for entry in past.entries]
        with database.write() as connection:
            journaling.append(connection, [event for past in batch for event in past.events])
            money.append(connection, posted)
        total += Money(sum(entry.moved(f"charged:{entry.attempt_uid}").micro for entry in posted))
    database.close()
    return total


def multiply_history(path: Path, times: int) -> None:
    """Make ``times`` as many Attempts of a written history: every row once more under other Attempt uids, by SQLite itself."""
    with closing(sqlite3.connect(path)) as connection, connection:
        # What is written here may be lost with the power; a large cache keeps the indexes in memory.
        connection.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000")
        for table in ("journal", "attempts", "entries", "postings"):
            columns = [row for row in connection.execute(f"PRAGMA table_info({table})") if row[1] != "sequence"]
            names = ", ".join(row[1] for row in columns)
            cells = ", ".join(f"replace({row[1]}, '{_MARK}', :mark)" if row[2] == "TEXT" else row[1] for row in columns)
            first = connection.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0]
            for number in range(1, times):
                text = f"INSERT INTO {table} ({names}) SELECT {cells} FROM {table} WHERE rowid <= :first ORDER BY rowid"
                connection.execute(text, {"mark": f"-{number:04x}-4000-", "first": first})
