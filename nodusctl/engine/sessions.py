"""Sessions: one Attempt, or several where a lost machine was replaced. One receipt an Attempt, one summary a session (money.md, Ledger).

An Attempt that never had a machine has no receipt, but it may stand between two that have; so the chain is followed over all Attempts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from nodusctl.attempts.attempt import Attempt
from nodusctl.base.money import Money, total
from nodusctl.engine.inspect_receipts import Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Receipts of one session, first to last; at least one."""

    receipts: tuple[Receipt, ...]

    @property
    def name(self) -> str:
        """The name of its first Attempt that had a machine."""
        return self.receipts[0].attempt.name

    @property
    def began_at(self) -> datetime | None:
        """When its first machine began to bill."""
        return self.receipts[0].attempt.timings.billing_started_at

    @property
    def ended_at(self) -> datetime | None:
        """When its last machine ended; None while one bills."""
        ends = [one.attempt.timings.finished_at for one in self.receipts]
        return None if None in ends else max(end for end in ends if end is not None)

    @property
    def billed_seconds(self) -> int:
        """Of all its machines together."""
        return sum(one.billed_seconds for one in self.receipts)

    @property
    def charge_usd(self) -> Money:
        """What is captured for it."""
        return total(one.charge_usd for one in self.receipts)

    @property
    def so_far_usd(self) -> Money:
        """The same with what still bills counted until now."""
        return total(one.charge_usd if one.is_final else one.so_far_usd for one in self.receipts)

    @property
    def is_final(self) -> bool:
        """True once every receipt is."""
        return all(one.is_final for one in self.receipts)


def sessions_of(receipts: Iterable[Receipt], attempts: Iterable[Attempt]) -> tuple[Session, ...]:
    """``receipts`` by session, in the order the sessions began. ``attempts`` are all of them, with and without a machine."""
    replaced = {attempt.uid: attempt.replaces for attempt in attempts if attempt.replaces}
    found: dict[str, list[Receipt]] = {}
    for receipt in receipts:
        found.setdefault(first_of(receipt.attempt.uid, replaced), []).append(receipt)
    return tuple(Session(receipts=tuple(ones)) for ones in found.values())


def first_of(uid: str, replaced: Mapping[str, str]) -> str:
    """The Attempt a session began with; ``replaced`` names, by uid, the one each took over from."""
    seen = {uid}
    while (before := replaced.get(uid)) and before not in seen:
        seen.add(before)
        uid = before
    return uid
