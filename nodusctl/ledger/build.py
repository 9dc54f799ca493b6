"""Makers of entries, one per kind. Each takes a Subject, so that no entry can name half of whom it concerns.

The surprise: a capture above what is held is not clamped. The rest comes from the available balance, because a charge is true even
where the hold was too small (CapOverrun).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money
from nodusctl.ledger.entries import AVAILABLE, GRANTED, Entry, EntryKind, Posting, charged, held


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Whom an entry concerns."""

    object_address: str
    object_uid: str
    attempt_uid: str


def grant(entry_id: str, time: datetime, amount: Money, memo: str = "") -> Entry:
    """Add money to the state. ValueError unless positive."""
    _require_positive(amount)
    postings = (Posting(GRANTED, -amount), Posting(AVAILABLE, amount))
    return Entry(id=entry_id, kind=EntryKind.GRANT, time=time, postings=postings, memo=memo)


def hold(entry_id: str, time: datetime, subject: Subject, amount: Money, *, memo: str = "") -> Entry:
    """Set money aside before the provider is called; zero is allowed (free capacity)."""
    return _concerning(subject, id=entry_id, kind=EntryKind.HOLD, time=time, postings=_set_aside(subject, amount), memo=memo)


def renew(entry_id: str, time: datetime, subject: Subject, amount: Money, *, memo: str = "") -> Entry:
    """Set more aside, before the machine is told that it may run longer."""
    return _concerning(subject, id=entry_id, kind=EntryKind.RENEW, time=time, postings=_set_aside(subject, amount), memo=memo)


def release(entry_id: str, time: datetime, subject: Subject, amount: Money, *, memo: str = "") -> Entry:
    """Give back what is held and no longer needed."""
    _require_not_negative(amount)
    postings = (Posting(held(subject.attempt_uid), -amount), Posting(AVAILABLE, amount))
    return _concerning(subject, id=entry_id, kind=EntryKind.RELEASE, time=time, postings=postings, memo=memo)


def capture(entry_id: str, time: datetime, subject: Subject, amount: Money, *, held_now: Money, memo: str = "") -> Entry:
    """Charge ``amount``, from the hold as far as it goes and from the available balance beyond it."""
    _require_not_negative(amount)
    from_hold = min(amount, held_now)
    postings = [Posting(held(subject.attempt_uid), -from_hold), Posting(charged(subject.attempt_uid), amount)]
    if beyond := amount - from_hold:
        postings.append(Posting(AVAILABLE, -beyond))
    return _concerning(subject, id=entry_id, kind=EntryKind.CAPTURE, time=time, postings=tuple(postings), memo=memo)


def storage_capture(entry_id: str, time: datetime, volume: Address, volume_uid: str, amount: Money, *, memo: str = "") -> Entry:
    """Charge a Volume for a period of its disk, from the available balance: nothing is ever held for a disk."""
    _require_not_negative(amount)
    postings = (Posting(AVAILABLE, -amount), Posting(charged(volume_uid), amount))
    about = {"object_address": str(volume), "object_uid": volume_uid}
    return Entry(id=entry_id, kind=EntryKind.CAPTURE, time=time, postings=postings, memo=memo, **about)


def refund(entry_id: str, time: datetime, subject: Subject, amount: Money, *, memo: str = "") -> Entry:
    """Give back money that was charged. ValueError unless positive."""
    _require_positive(amount)
    postings = (Posting(charged(subject.attempt_uid), -amount), Posting(AVAILABLE, amount))
    return _concerning(subject, id=entry_id, kind=EntryKind.REFUND, time=time, postings=postings, memo=memo)


def correction(entry_id: str, time: datetime, subject: Subject, difference: Money, *, corrects: str, memo: str = "") -> Entry:
    """Change what an Attempt has cost by ``difference`` (negative lowers it), pointing at the entry that was wrong."""
    postings = (Posting(charged(subject.attempt_uid), difference), Posting(AVAILABLE, -difference))
    return _concerning(subject, id=entry_id, kind=EntryKind.CORRECTION, time=time, postings=postings, corrects=corrects, memo=memo)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptBalance:
    """What one Attempt holds and has been charged so far."""

    held: Money = ZERO
    charged: Money = ZERO


def settle_attempt(
    entry_ids: tuple[str, str],
    time: datetime,
    subject: Subject,
    *,
    total_charge: Money,
    balance: AttemptBalance,
    last_capture_id: str | None = None,
) -> tuple[Entry, ...]:
    """The last entries of an Attempt: capture what is left of its charge, then release what is left of its hold.

    Where more was captured than the final charge, a correction of ``last_capture_id`` brings it down (ValueError without one).
    """
    rest = total_charge - balance.charged
    entries: list[Entry] = []
    from_hold = ZERO
    if rest.micro >= 0:
        from_hold = min(rest, balance.held)
        entries.append(capture(entry_ids[0], time, subject, rest, held_now=balance.held, memo="final"))
    elif last_capture_id is None:
        raise ValueError("more was captured than the final charge, and no capture to correct was named")
    else:
        entries.append(correction(entry_ids[0], time, subject, rest, corrects=last_capture_id, memo="final"))
    if left := balance.held - from_hold:
        entries.append(release(entry_ids[1], time, subject, left, memo="final"))
    return tuple(entries)


def _set_aside(subject: Subject, amount: Money) -> tuple[Posting, ...]:
    _require_not_negative(amount)
    return Posting(AVAILABLE, -amount), Posting(held(subject.attempt_uid), amount)


def _concerning(subject: Subject, **fields: Any) -> Entry:
    return Entry(
        object_address=subject.object_address,
        object_uid=subject.object_uid,
        attempt_uid=subject.attempt_uid,
        **fields,
    )


def _require_positive(amount: Money) -> None:
    if amount.micro <= 0:
        raise ValueError("a grant or refund is above zero")


def _require_not_negative(amount: Money) -> None:
    if amount.micro < 0:
        raise ValueError("an amount held, released or captured is never negative")
