"""Whether a hold fits, and whether a ledger is sound. Pure, so that check and hold can be one serializable transaction elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nodusctl.base.money import ZERO, Money
from nodusctl.ledger.balances import Balances, balances
from nodusctl.ledger.entries import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """A hold that doesn't fit: ``needed`` against ``remaining`` (never below 0) of ``limit``, ``spent`` and ``held`` already."""

    needed: Money
    remaining: Money
    limit: Money
    spent: Money
    held: Money


def remaining_of(limit: Money, spent: Money, held: Money) -> Money:
    """What a cap or Budget still allows, never below zero."""
    return max(limit - spent - held, ZERO)


def budget_shortfall(needed: Money, limit: Money, spent: Money, held: Money) -> Shortfall | None:
    """BudgetExceeded with its amounts, or None where the hold fits (a hold equal to what remains fits)."""
    remaining = remaining_of(limit, spent, held)
    return None if needed <= remaining else Shortfall(needed=needed, remaining=remaining, limit=limit, spent=spent, held=held)


def credit_shortfall(needed: Money, now: Balances) -> Shortfall | None:
    """InsufficientCredits, or None where the hold fits or nothing was ever granted."""
    if not now.has_grant or needed <= now.available:
        return None
    whole = now.whole
    limit = now.available + whole.held + whole.charged
    return Shortfall(needed=needed, remaining=max(now.available, ZERO), limit=limit, spent=whole.charged, held=whole.held)


def unsound(entries: Sequence[Entry], settled_attempts: Iterable[str] = ()) -> tuple[str, ...]:
    """What is wrong with a ledger, as sentences; empty means sound.

    Checked: ids are unique; a correction points at an earlier entry of the same Attempt; no hold, and no charge, is below zero;
    a settled Attempt holds nothing.
    """
    faults: list[str] = []
    seen: dict[str, Entry] = {}
    for entry in entries:
        if entry.id in seen:
            faults.append(f"Entry {entry.id} is there twice.")
        corrected = seen.get(entry.corrects) if entry.corrects is not None else None
        if entry.corrects is not None and (corrected is None or corrected.attempt_uid != entry.attempt_uid):
            faults.append(f"Entry {entry.id} corrects {entry.corrects}, which is no earlier entry of its Attempt.")
        seen[entry.id] = entry
    now = balances(entries)
    for uid, balance in now.by_attempt.items():
        if balance.held.micro < 0:
            faults.append(f"Attempt {uid} holds {balance.held.shown}.")
        if balance.charged.micro < 0:
            faults.append(f"Attempt {uid} was charged {balance.charged.shown}.")
    disks = {entry.object_uid: entry.object_address for entry in entries if entry.is_storage}
    faults += [f"The disk of {disks[uid]} was charged {cost.shown}." for uid in disks if (cost := now.object(uid).charged).micro < 0]
    faults += [f"Attempt {uid} is settled and still holds {left.shown}." for uid in settled_attempts if (left := now.attempt(uid).held)]
    return tuple(faults)
