"""Entries and postings: an entry moves money between accounts and its postings sum to zero, or it can't be made.

Accounts, as text so that a store needs no table for them:

    available             money that may be held; may be negative where nothing was ever granted (post-paid)
    granted               the other side of grants
    held:<attempt uid>    money set aside for one Attempt
    charged:<attempt uid> money one Attempt has cost
    charged:<volume uid>  money the disk of one Volume has cost

The surprise: nothing is edited. A wrong entry stays, and a correction points at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from nodusctl.base.money import Money

AVAILABLE = "available"
GRANTED = "granted"


def held(attempt_uid: str) -> str:
    """The account of an Attempt's holds."""
    return f"held:{attempt_uid}"


def charged(attempt_uid: str) -> str:
    """The account of what an Attempt has cost, or a Volume's disk."""
    return f"charged:{attempt_uid}"


class EntryKind(StrEnum):
    """Why money moved (money.md, Ledger)."""

    GRANT = "grant"
    HOLD = "hold"
    RENEW = "renew"
    RELEASE = "release"
    CAPTURE = "capture"
    REFUND = "refund"
    CORRECTION = "correction"


@dataclass(frozen=True, slots=True)
class Posting:
    """One side of an entry; positive adds to the account."""

    account: str
    amount: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One movement. ``object_address`` is for people, ``object_uid`` and ``attempt_uid`` are who it concerns; empty for a grant.

    Storage concerns a Volume and no Attempt.

    ValueError for postings that don't sum to zero, a correction that points at nothing, or a pointer on another kind.
    """

    id: str
    kind: EntryKind
    time: datetime
    postings: tuple[Posting, ...]
    object_address: str = ""
    object_uid: str = ""
    attempt_uid: str = ""
    corrects: str | None = None
    memo: str = ""

    def __post_init__(self) -> None:
        if sum(posting.amount.micro for posting in self.postings) != 0:
            raise ValueError("the postings of an entry sum to zero")
        if (self.kind is EntryKind.CORRECTION) != (self.corrects is not None):
            raise ValueError("a correction, and nothing else, names the entry it corrects")

    @property
    def bearer(self) -> str:
        """Whose accounts it moves: the Attempt's uid; for storage the Volume's; empty for a grant."""
        return self.attempt_uid or self.object_uid

    @property
    def is_storage(self) -> bool:
        """True for the charge of a disk."""
        return bool(self.object_uid) and not self.attempt_uid

    def moved(self, account: str) -> Money:
        """What this entry adds to ``account``."""
        return Money(sum(posting.amount.micro for posting in self.postings if posting.account == account))
