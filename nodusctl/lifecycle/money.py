"""The money of one Attempt's steps: a hold before the call, one capture and the rest released when its end is known.

Captures are what an Attempt cost; their sum is the receipt. Nothing allocated means the hold goes back whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.money import ZERO, Money
from nodusctl.ledger import build
from nodusctl.ledger.balances import balances
from nodusctl.ledger.entries import Entry, EntryKind
from nodusctl.pricing.charge import charge, elapsed_seconds


def hold_for_launch(attempt: Attempt, try_number: int, amount: Money, now: datetime) -> tuple[Entry, ...]:
    """Money set aside for one try; no entry for a free one."""
    if not amount:
        return ()
    return (build.hold(f"{attempt.uid}/hold/{try_number}", now, _subject(attempt), amount, memo="before the launch"),)


def hold_returned(attempt: Attempt, entries: Iterable[Entry], now: datetime, memo: str) -> tuple[Entry, ...]:
    """All that is still held for the Attempt goes back."""
    held = balances(entries).attempt(attempt.uid).held
    if not held:
        return ()
    return (build.release(f"{attempt.uid}/release/{attempt.try_number}", now, _subject(attempt), held, memo=memo),)


def final_entries(attempt: Attempt, entries: Iterable[Entry], ended_at: datetime, now: datetime) -> tuple[Entry, ...]:
    """The last capture and the rest of the hold, once the end of billing is known; never clamped to the hold."""
    known = tuple(e for e in entries if e.attempt_uid == attempt.uid)
    captures = [e.id for e in known if e.kind is EntryKind.CAPTURE]
    return build.settle_attempt(
        (f"{attempt.uid}/capture/final", f"{attempt.uid}/release/final"),
        now,
        _subject(attempt),
        total_charge=charge_of(attempt, ended_at),
        balance=balances(known).attempt(attempt.uid),
        last_capture_id=captures[-1] if captures else None,
    )


def charge_of(attempt: Attempt, ended_at: datetime) -> Money:
    """What the Attempt costs if its billing ends at ``ended_at``: zero where nothing was allocated."""
    began, terms = attempt.timings.billing_started_at, attempt.terms
    if began is None or terms is None:
        return ZERO
    return charge(elapsed_seconds(ended_at - began), terms.rate_usd_per_hour, terms.increment_seconds, terms.minimum_seconds)


def _subject(attempt: Attempt) -> build.Subject:
    return build.Subject(object_address=str(attempt.owner), object_uid=attempt.owner_uid, attempt_uid=attempt.uid)
