"""Views over several tables, each read at one moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import func, select

from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money
from nodusctl.base.uncollected import uncollected
from nodusctl.ports.journal import StoredObject
from nodusctl.state.snapshot import Snapshot, Standing
from nodusctl.state.status import ObjectStatus
from nodusctl.store import desired, intentions, journaling, money
from nodusctl.store.basis import CHARGED, HELD
from nodusctl.store.revision import REVISION
from nodusctl.store.schema import ATTEMPTS, ENTRIES, JOURNAL, RECORDS
from nodusctl.store.statements import Row

if TYPE_CHECKING:
    from sqlalchemy import Connection

T = TypeVar("T")
_NO_SUMS: Mapping[str, Money] = {}


def snapshot(connection: Connection) -> Snapshot:
    """All records with status and ledger sums."""
    head = desired.head(connection)
    if head is None:
        return Snapshot()
    with uncollected():
        return _standings(connection, head)


def _standings(connection: Connection, head: Row) -> Snapshot:
    statuses, sums = desired.statuses(connection), money.sums(connection)
    touched = intentions.touched(intentions.open_ones(connection))
    standings: dict[Address, Standing] = {}
    for record in desired.records(connection):
        accounts = sums.get(record.uid, _NO_SUMS)
        standings[record.address] = Standing(
            record=record,
            status=statuses.get(record.uid) or ObjectStatus(),
            charged_usd=accounts.get(CHARGED, ZERO),
            held_usd=accounts.get(HELD, ZERO),
            has_open_intent=record.uid in touched,
        )
    return Snapshot(lineage=head["lineage"], serial=head["serial"], standings=standings)


def stored(connection: Connection, uids: Sequence[str]) -> Mapping[str, StoredObject]:
    """All that is stored about each of ``uids`` that has a record."""
    with uncollected():
        return _stored(connection, uids)


def _stored(connection: Connection, uids: Sequence[str]) -> Mapping[str, StoredObject]:
    statuses = desired.statuses(connection, uids)
    attempts = by_uid(journaling.attempts(connection, uids), lambda attempt: attempt.owner_uid)
    intents = by_uid(intentions.open_ones(connection, uids), lambda intent: intent.object_uid)
    entries = by_uid(money.entries(connection, uids), lambda entry: entry.object_uid)
    return {
        record.uid: StoredObject(
            record=record,
            status=statuses.get(record.uid) or ObjectStatus(),
            attempts=attempts.get(record.uid, ()),
            intents=intents.get(record.uid, ()),
            entries=entries.get(record.uid, ()),
        )
        for record in desired.records(connection, uids)
    }


def by_uid(values: Iterable[T], uid_of: Callable[[T], str]) -> Mapping[str, tuple[T, ...]]:
    """``values`` in their order, under their uids."""
    found: dict[str, list[T]] = defaultdict(list)
    for value in values:
        found[uid_of(value)].append(value)
    return {uid: tuple(group) for uid, group in found.items()}


def facts(connection: Connection) -> Mapping[str, Any]:
    """Identity, counters and sizes, for ``state show``."""
    head = desired.head(connection)
    counted = {"records": RECORDS, "attempts": ATTEMPTS, "events": JOURNAL, "entries": ENTRIES}
    return {
        "schema_revision": REVISION,
        **{name: head[name] for name in ("lineage", "project", "serial", "observations", "created_at") if head is not None},
        **{name: connection.execute(select(func.count()).select_from(table)).scalar_one() for name, table in counted.items()},
        "open_intents": len(intentions.open_ones(connection)),
    }
