"""The money of one Attempt's steps: a hold before the call, captures at renewals and month ends, the rest released when its end is known.

Captures are what an Attempt cost; their sum is the receipt. Nothing allocated means the hold goes back whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.money import ZERO, Money
from nodusctl.ledger import build
from nodusctl.ledger.balances import balances, month_of
from nodusctl.ledger.billed import Billing
from nodusctl.ledger.entries import Entry, EntryKind
from nodusctl.pricing.charge import at_rate, charge, elapsed_seconds

_TICK = timedelta(microseconds=1)
"""Before the first moment of a month: where the captures of the month before it are dated."""


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


def captures_until(attempt: Attempt, entries: Iterable[Entry], until: datetime, now: datetime) -> tuple[Entry, ...]:
    """The exact time used up to ``until``, captured: what fell into a UTC month that is over is dated in that month.

    Nothing where no time has passed since the last capture. A capture is never rounded up to an increment; the last one of the Attempt is.
    """
    known = [e for e in entries if e.attempt_uid == attempt.uid]
    began, terms = attempt.timings.billing_started_at, attempt.terms
    if began is None or terms is None:
        return ()
    moments = [*((boundary, boundary - _TICK) for boundary in _months_between(began, until)), (until, now)]
    made: list[Entry] = []
    for moment, dated in moments:
        balance = balances((*known, *made)).attempt(attempt.uid)
        amount = at_rate(elapsed_seconds(moment - began), terms.rate_usd_per_hour) - balance.charged
        if amount > ZERO:
            number = sum(1 for e in (*known, *made) if e.kind is EntryKind.CAPTURE) + 1
            entry_id = f"{attempt.uid}/capture/{number}"
            made.append(build.capture(entry_id, dated, _subject(attempt), amount, held_now=balance.held, memo="time used"))
    return tuple(made)


def _months_between(began: datetime, until: datetime) -> Iterator[datetime]:
    """The first moments of UTC months after ``began`` and not after ``until``."""
    following = month_of(began)[1]
    while following <= until:
        yield following
        following = month_of(following)[1]


def crosses_month(attempt: Attempt, entries: Iterable[Entry], now: datetime) -> bool:
    """True where a month has ended since the last capture (or since billing began): a forced renewal with two captures."""
    began = attempt.timings.billing_started_at
    if began is None:
        return False
    captured = [e.time for e in entries if e.attempt_uid == attempt.uid and e.kind is EntryKind.CAPTURE]
    return month_of(max(captured, default=began) + _TICK)[1] <= now


def renewal_entries(attempt: Attempt, entries: Iterable[Entry], hold: Money, now: datetime) -> tuple[Entry, ...]:
    """What is posted before a machine is told that it may run longer: the time used so far, and the hold raised to ``hold``."""
    known = tuple(entries)
    captured = captures_until(attempt, known, now, now)
    held = balances((*known, *captured)).attempt(attempt.uid).held
    if hold <= held:
        return captured
    number = sum(1 for e in known if e.attempt_uid == attempt.uid and e.kind is EntryKind.RENEW) + 1
    raised = build.renew(f"{attempt.uid}/renew/{number}", now, _subject(attempt), hold - held, memo="before the edge moves")
    return (*captured, raised)


def hold_lowered(attempt: Attempt, entries: Iterable[Entry], hold: Money, now: datetime) -> tuple[Entry, ...]:
    """What goes back once a machine has read back an earlier edge."""
    known = tuple(entries)
    surplus = balances(known).attempt(attempt.uid).held - hold
    if surplus <= ZERO:
        return ()
    number = sum(1 for e in known if e.attempt_uid == attempt.uid and e.kind is EntryKind.RELEASE) + 1
    return (build.release(f"{attempt.uid}/lowered/{number}", now, _subject(attempt), surplus, memo="the edge is nearer"),)


def final_entries(attempt: Attempt, entries: Iterable[Entry], ended_at: datetime, now: datetime) -> tuple[Entry, ...]:
    """The last capture and the rest of the hold, once the end of billing is known; never clamped to the hold."""
    known = tuple(e for e in entries if e.attempt_uid == attempt.uid)
    months = _month_ends(attempt, known, ended_at)
    known = (*known, *months)
    captures = [e.id for e in known if e.kind is EntryKind.CAPTURE]
    return months + build.settle_attempt(
        (f"{attempt.uid}/capture/final", f"{attempt.uid}/release/final"),
        now,
        _subject(attempt),
        total_charge=charge_of(attempt, ended_at),
        balance=balances(known).attempt(attempt.uid),
        last_capture_id=captures[-1] if captures else None,
    )


def _month_ends(attempt: Attempt, known: tuple[Entry, ...], ended_at: datetime) -> tuple[Entry, ...]:
    """What fell into months that were over before the end and that nobody captured in time."""
    began = attempt.timings.billing_started_at
    boundaries = list(_months_between(began, ended_at)) if began is not None else []
    return captures_until(attempt, known, boundaries[-1], boundaries[-1] - _TICK) if boundaries else ()


def charge_of(attempt: Attempt, ended_at: datetime) -> Money:
    """What the Attempt costs if its billing ends at ``ended_at``: zero where nothing was allocated."""
    began, terms = attempt.timings.billing_started_at, attempt.terms
    if began is None or terms is None:
        return ZERO
    return charge(elapsed_seconds(ended_at - began), terms.rate_usd_per_hour, terms.increment_seconds, terms.minimum_seconds)


def billing_of(attempt: Attempt) -> Billing:
    """What is known of when the Attempt bills; nothing before it has a machine."""
    machine, times = attempt.machine, attempt.timings
    return Billing(
        terms=attempt.terms,
        began=times.billing_started_at if machine is not None else None,
        edge=attempt.edge_at,
        machine_ended=machine.ended_at if machine is not None else None,
        ended=times.finished_at,
    )


def _subject(attempt: Attempt) -> build.Subject:
    return build.Subject(object_address=str(attempt.owner), object_uid=attempt.owner_uid, attempt_uid=attempt.uid)
