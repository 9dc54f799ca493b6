"""A state's key and what hangs on it, in a Book."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from nodusctl.store.book import Book
from nodusctl.store.keyed import Keyed
from nodusctl.store.memory_changes import appended, with_statuses
from nodusctl.store.sealing import Ring


class Books(Protocol):
    """Where the newest Book lies."""

    book: Book

    def change(self, next_book: Callable[[Book], Book]) -> Book:
        """Replace it."""
        ...


class MemoryKeyedStore:
    """Of the state on a shelf."""

    def __init__(self, books: Books) -> None:
        self._books = books

    def ring(self) -> Ring:
        return self._books.book.ring

    def change(self, step: Callable[[Keyed], Keyed]) -> Keyed:
        made: list[Keyed] = []

        def changed(book: Book) -> Book:
            before = _keyed(book)
            made.append(after := step(before))
            fresh = {uid: status for uid, status in after.statuses.items() if status != before.statuses.get(uid)}
            book = replace(book, key_check=after.check, copies=after.copies, sealed=after.sealed)
            return appended(with_statuses(book, fresh), after.remarks)

        self._books.change(changed)
        return made[-1]


def _keyed(book: Book) -> Keyed:
    return Keyed(
        exists=bool(book.lineage),
        check=book.key_check,
        copies=book.copies,
        sealed=book.sealed,
        statuses={uid: status for uid, status in book.statuses.items() if status.secret is not None},
    )
