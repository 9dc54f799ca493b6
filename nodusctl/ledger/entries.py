"""Ledger entries: double entry, append-only, exact.

An entry that doesn't balance can't be built. A mistake is never edited: a correction is a new entry that points at the old one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from nodusctl.base.money import Money


class EntryKind(StrEnum):
    """What moved the money (money.md, "Ledger")."""

    GRANT = "grant"
    HOLD = "hold"
    RENEW = "renew"
    RELEASE = "release"
    CAPTURE = "capture"
    REFUND = "refund"
    CORRECTION = "correction"


class Account(StrEnum):
    """Where money stands: the owner's funds, what is held for an object, what the provider has earned."""

    FUNDS = "funds"
    HELD = "held"
    CHARGED = "charged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """One side of an entry; a positive amount arrives in the account, a negative one leaves it."""

    account: Account
    amount: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One movement for one Attempt of one object. ``corrects`` names the entry a correction or refund points at."""

    id: str
    kind: EntryKind
    time: datetime
    object_uid: str
    attempt_uid: str
    postings: tuple[Posting, ...]
    memo: str = ""
    corrects: str = ""
    is_final: bool = False

    def __post_init__(self) -> None:
        if sum(posting.amount.micro for posting in self.postings) != 0:
            raise ValueError("the postings of an entry sum to zero")
