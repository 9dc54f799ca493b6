"""What ``receipts --verify`` may find: one difference between what is stored and what was recomputed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nodusctl.base.money import Money


class Fault(StrEnum):
    """What kind of difference it is; the words are part of the JSON output."""

    DAMAGED = "RowDamaged"
    GONE = "RowsGone"
    UNBALANCED = "EntryUnbalanced"
    MISPLACED = "EntryMisplaced"
    CORRECTS_NOTHING = "CorrectionLost"
    POSTINGS = "PostingsDiffer"
    NO_ATTEMPT = "AttemptUnknown"
    CHARGE = "ChargeDiffers"
    STILL_HELD = "StillHeld"
    HOLD = "HoldTooSmall"
    USED = "ChargedAhead"
    NO_END = "EndUnknown"
    RECEIPT = "ReceiptDiffers"
    SEGMENTS = "SegmentsDiffer"
    RATE = "RateDiffers"
    CEILING = "AboveCeiling"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``attempt`` is its name and ``attempt_uid`` its uid, both empty where the fault is of no single Attempt.

    Of the storage of a Volume ``attempt`` is the word ``storage``, and the uid is the Volume's.
    """

    fault: Fault
    expected: str
    found: str
    attempt: str = ""
    attempt_uid: str = ""
    owner: str = ""


def dollars(micro: int) -> str:
    """Micro-USD as a person reads it."""
    return Money(micro).shown
