"""The books of a state in memory. Its values were never text, so none of them can be damaged and no row can be gone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import Event
from nodusctl.ledger.entries import Entry
from nodusctl.ports.books import PostedSum
from nodusctl.store.basis import side_of
from nodusctl.store.book import Book


@dataclass(frozen=True, slots=True)
class MemoryBooks:
    """Walks one frozen Book."""

    book: Book

    def entries(self) -> Iterator[Entry]:
        return iter(self.book.entries)

    def entry(self, entry_id: str) -> Entry | None:
        return next((entry for entry in self.book.entries if entry.id == entry_id), None)

    def posted(self) -> Iterator[PostedSum]:
        sums: dict[tuple[str, str, str], int] = defaultdict(int)
        for entry in self.book.entries:
            for posting in entry.postings:
                sums[posting.account, side_of(posting), entry.object_uid] += posting.amount.micro
        return (PostedSum(*where, micro) for where, micro in sums.items())

    def events(self, kinds: Collection[type]) -> Iterator[Event]:
        return (event for event in self.book.events if event.attempt_uid and type(event) in kinds)

    def object_events(self, kinds: Collection[type]) -> Iterator[Event]:
        return (event for event in self.book.events if type(event) in kinds)

    def attempt(self, uid: str) -> Attempt | None:
        return self.book.attempts.get(uid)

    def attempts(self, newest: int | None = None) -> Iterator[Attempt]:
        ones = self.book.attempts.values()
        return iter(ones) if newest is None else islice(reversed(tuple(ones)), newest)

    def attempt_count(self) -> int:
        return len(self.book.attempts)

    def rows_gone(self) -> Mapping[str, int]:
        return {}


NO_BOOKS = MemoryBooks(Book())
"""Those of a state that doesn't exist yet."""
