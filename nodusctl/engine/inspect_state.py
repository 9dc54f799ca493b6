"""``state show``: the state itself, not what it describes. Takes no lock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from nodusctl.attempts.intents import Intent
from nodusctl.base.money import ZERO, Money
from nodusctl.ledger.balances import balances
from nodusctl.ports.claims import Claims, Holder, Liveness, LockFacts
from nodusctl.ports.journal import Journal, OperationNote


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkInHand:
    """A claim: which object, which step, by whom, and how long ago its holder gave a sign of life."""

    address: str
    step: str
    holder: Holder
    liveness: Liveness
    silent_for: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFacts:
    """``counts`` maps a kind to how many records there are; ``facts`` is what the store says of itself; money is the whole ledger's."""

    exists: bool
    lineage: str
    serial: int
    facts: Mapping[str, Any]
    counts: Mapping[str, int]
    open_intents: tuple[Intent, ...]
    lock: LockFacts | None
    work: tuple[WorkInHand, ...]
    operations: tuple[OperationNote, ...]
    charged_usd: Money = ZERO
    held_usd: Money = ZERO


def state_facts(*, journal: Journal, claims: Claims) -> StateFacts:
    """One reading of the state."""
    if not journal.exists():
        return StateFacts(
            exists=False,
            lineage="",
            serial=0,
            facts=journal.facts(),
            counts={},
            open_intents=(),
            lock=claims.plan_lock(),
            work=(),
            operations=(),
        )
    snapshot = journal.snapshot()
    money = balances(journal.entries()).whole
    return StateFacts(
        exists=True,
        lineage=snapshot.lineage,
        serial=snapshot.serial,
        facts=journal.facts(),
        counts=Counter(standing.record.address.kind for standing in snapshot),
        open_intents=journal.open_intents(),
        lock=claims.plan_lock(),
        work=tuple(_work(journal, claims)),
        operations=journal.operations(10),
        charged_usd=money.charged,
        held_usd=money.held,
    )


def _work(journal: Journal, claims: Claims) -> Iterator[WorkInHand]:
    for uid, *_ in claims.claimed():
        work = claims.work_on(uid)
        if work is not None:
            yield WorkInHand(
                address=str(journal.address_of(uid) or uid),
                step=work.step,
                holder=work.holder,
                liveness=work.liveness,
                silent_for=work.silent_for,
            )
