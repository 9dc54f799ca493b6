"""Ledger entries as rows. Balances are never stored: SQL sums the postings, exactly, in integers of micro-USD.

A posting's ``side`` is its account without the Attempt it may name (``held:ab12`` → ``held``): what is summed per object. Its ``month``
is the UTC month the entry is dated in: what a month's Budget counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select

from nodusctl.base.money import Money
from nodusctl.ledger.entries import Entry
from nodusctl.ledger.room import month_key
from nodusctl.store.basis import side_of
from nodusctl.store.codec import decode, encode
from nodusctl.store.freetext import without_secrets
from nodusctl.store.schema import ENTRIES, POSTINGS
from nodusctl.store.statements import Statement, among, listed

if TYPE_CHECKING:
    from sqlalchemy import Connection

_ADD_ENTRY, _ADD_POSTING = Statement(insert(ENTRIES)), Statement(insert(POSTINGS))
_entries = select(ENTRIES.c.body).order_by(ENTRIES.c.sequence)
_ALL_ENTRIES, _ENTRIES_OF = Statement(_entries), Statement(_entries.where(among(ENTRIES.c.object_uid, "uids")))
_SUMS = Statement(
    select(POSTINGS.c.object_uid, POSTINGS.c.side, func.sum(POSTINGS.c.amount_micro)).group_by(POSTINGS.c.object_uid, POSTINGS.c.side)
)


def append(connection: Connection, entries: Iterable[Entry]) -> None:
    """Write entries with their postings, in order; an id posted before is a bug and raises IntegrityError."""
    cleaned = [without_secrets(entry) for entry in entries]
    if not cleaned:
        return
    rows = [{"id": e.id, "object_uid": e.object_uid, "attempt_uid": e.attempt_uid, "body": encode(e)} for e in cleaned]
    _ADD_ENTRY.change_each(connection, rows)
    _ADD_POSTING.change_each(connection, [row for entry in cleaned for row in posting_rows(entry)])


def posting_rows(entry: Entry) -> list[dict[str, object]]:
    """The rows beside an entry, which are what is summed."""
    return [
        {
            "entry_id": entry.id,
            "position": position,
            "object_uid": entry.object_uid,
            "side": side_of(posting),
            "month": month_key(entry.time),
            "account": str(posting.account),
            "amount_micro": posting.amount.micro,
        }
        for position, posting in enumerate(entry.postings)
    ]


def entries(connection: Connection, object_uids: Sequence[str] | None = None) -> tuple[Entry, ...]:
    """Entries in order; of the named objects, or all."""
    bodies = _ALL_ENTRIES.values(connection) if object_uids is None else _ENTRIES_OF.values(connection, uids=listed(object_uids))
    return tuple(decode(Entry, body) for body in bodies)


def sums(connection: Connection) -> Mapping[str, Mapping[str, Money]]:
    """What stands on each side, per object uid."""
    found: dict[str, dict[str, Money]] = defaultdict(dict)
    for object_uid, side, amount in _SUMS.rows(connection):
        found[object_uid][side] = Money(amount)
    return found
