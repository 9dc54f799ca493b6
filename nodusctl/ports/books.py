"""The books: all that money rests on, walked one row at a time as of one moment, for whoever checks it.

A row that can't be read is told as Damaged and the walk goes on: a checker that stops at the first fault is no use on the day it is
needed. Nothing here is held in memory whole, so a state of any size can be walked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from nodusctl.attempts.attempt import Attempt
from nodusctl.attempts.events import Event
from nodusctl.ledger.entries import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A stored row that isn't what was written. ``what`` names it (``entry ab12/capture/final``), ``why`` says what is wrong."""

    what: str
    attempt_uid: str
    why: str


class PostedSum(NamedTuple):
    """What the stored postings of one account come to, in micro-USD. Caps and Budgets read these sums, not the entries."""

    account: str
    side: str
    object_uid: str
    micro: int


class Books(Protocol):
    """One state's books at one moment."""

    def entries(self) -> Iterator[Entry | Damaged]:
        """The ledger in order."""
        ...

    def entry(self, entry_id: str) -> Entry | Damaged | None:
        """One entry by its id."""
        ...

    def posted(self) -> Iterator[PostedSum]:
        """Sums of the postings beside the entries, in any order."""
        ...

    def events(self, kinds: Collection[type]) -> Iterator[Event | Damaged]:
        """The journal in order: events of these kinds that speak of an Attempt."""
        ...

    def object_events(self, kinds: Collection[type]) -> Iterator[Event | Damaged]:
        """The same, whether or not they speak of an Attempt."""
        ...

    def attempt(self, uid: str) -> Attempt | Damaged | None:
        """An Attempt as it is stored, which is what receipts are made from."""
        ...

    def attempts(self, newest: int | None = None) -> Iterator[Attempt | Damaged]:
        """All of them in the order they were queued; or so many of the newest, newest first."""
        ...

    def attempt_count(self) -> int:
        """How many there are."""
        ...

    def rows_gone(self) -> Mapping[str, int]:
        """How many rows of ``journal`` and ``entries`` were written and are no longer there."""
        ...
