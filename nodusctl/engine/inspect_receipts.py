"""Receipts: what each Attempt has cost, with the times, segments and rate it came from (money.md, "Receipts").

The amount is what the ledger captured; the segments are recomputed from the journal's times. On a closed Attempt the two agree to
the last decimal, and ``is_consistent`` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.ledger.balances import balances
from nodusctl.ledger.entries import Entry
from nodusctl.lifecycle.money import billing_of
from nodusctl.ports.journal import Journal
from nodusctl.pricing.charge import NOTHING_CHARGED, Segments, SegmentSeconds, segment_seconds, segments


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One Attempt's. ``charge_usd`` is captured money; ``so_far_usd`` what its time comes to, for one that isn't settled.

    ``is_past_edge``: its machine must have ended itself at its armed edge, and no pass has confirmed it.
    """

    attempt: Attempt
    seconds: SegmentSeconds
    segments: Segments
    charge_usd: Money
    held_usd: Money
    so_far_usd: Money
    is_final: bool
    is_estimated: bool
    is_past_edge: bool = False

    @property
    def is_consistent(self) -> bool:
        """False only for a final receipt whose ledger and segments differ: then a correction explains it."""
        return not self.is_final or self.charge_usd == self.segments.total

    @property
    def billed_seconds(self) -> int:
        """Seconds charged: rounded up to the increment, at least the minimum (seed ``billedSeconds``)."""
        return _billed(self.attempt, self.seconds)


def list_receipts(owner: Address | None, *, journal: Journal, now: datetime) -> tuple[Receipt, ...]:
    """Receipts of all Attempts that ever had a machine, oldest first; of one owner, also a removed or a renamed one, if given."""
    return receipts_among(attempts_of(owner, journal), journal=journal, now=now)


def attempts_of(owner: Address | None, journal: Journal) -> tuple[Attempt, ...]:
    """All Attempts, or those of whatever had the address ``owner``, or has it now."""
    attempts = journal.attempts()
    if owner is None:
        return attempts
    standing = journal.snapshot().get(owner)
    uid = standing.record.uid if standing is not None else ""
    return tuple(one for one in attempts if one.owner == owner or one.owner_uid == uid)


def receipts_among(attempts: Iterable[Attempt], *, journal: Journal, now: datetime) -> tuple[Receipt, ...]:
    """Receipts of those of ``attempts`` that ever had a machine, in their order."""
    by_attempt = entries_by_attempt(journal.entries())
    return tuple(receipt_of(attempt, by_attempt.get(attempt.uid, ()), now=now) for attempt in attempts if attempt.machine is not None)


def entries_by_attempt(entries: Iterable[Entry]) -> Mapping[str, tuple[Entry, ...]]:
    """Ledger entries by Attempt uid, in order."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.attempt_uid, []).append(entry)
    return {uid: tuple(ones) for uid, ones in found.items()}


def receipt_of(attempt: Attempt, entries: Iterable[Entry], *, now: datetime) -> Receipt:
    """The receipt of one Attempt from its events and ledger entries."""
    stands = balances(entries).attempt(attempt.uid)
    return shown_receipt(attempt, charged=stands.charged, held=stands.held, now=now)


def shown_receipt(attempt: Attempt, *, charged: Money, held: Money, now: datetime) -> Receipt:
    """The same from what the ledger says about the Attempt: what is charged and what is held."""
    times, terms, billing = attempt.timings, attempt.terms, billing_of(attempt)
    seconds = segment_seconds(
        billing_start=billing.began,
        ready=times.ready_at,
        stop_asked=times.stop_asked_at,
        end=billing.shown_until(now, charged + held),
        is_replacement=attempt.is_replacement,
    )
    parts = NOTHING_CHARGED
    if terms is not None and seconds.total:
        parts = segments(seconds, terms.rate_usd_per_hour, terms.increment_seconds, terms.minimum_seconds)
    return Receipt(
        attempt=attempt,
        seconds=seconds,
        segments=parts,
        charge_usd=charged,
        held_usd=held,
        so_far_usd=parts.total,
        is_final=attempt.is_released and not attempt.is_open,
        is_estimated=attempt.end_is_estimated,
        is_past_edge=billing.began is not None and billing.is_past_edge(now),
    )


def _billed(attempt: Attempt, seconds: SegmentSeconds) -> int:
    from nodusctl.placement.rounding import billed_seconds

    if attempt.terms is None or not seconds.total:
        return 0
    return int(billed_seconds(seconds.total, attempt.terms.increment_seconds, attempt.terms.minimum_seconds))
