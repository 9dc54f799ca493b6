"""The gate every call passes: it is written down, and the scripted faults that match it are found.

A rule counts the calls it matches. ``nth`` alone means that call only; ``times`` alone the first K; both, K calls from the nth on;
neither, every call until the faults are cleared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TypeVar

from nodus_providers.simulated.database import Transaction
from nodus_providers.simulated.effects import DropReply, Effect, Hang, Unreachable, parse_effect
from nodus_providers.simulated.instants import from_micro
from nodus_providers.simulated.rows import RuleRow
from nodusctl.provider.contract import CallRecord, FaultRule

E = TypeVar("E", bound=Effect)


@dataclass(frozen=True, slots=True)
class Armed:
    """One effect that applies to the call at hand, and whom its rule matches."""

    effect: Effect
    match: str


@dataclass(frozen=True, slots=True)
class Effects:
    """All effects that apply to one call."""

    armed: tuple[Armed, ...] = ()

    def first(self, kind: type[E], address: str | None = None) -> E | None:
        """The first effect of a kind; with ``address``, of a rule that matches it."""
        for armed in self.armed:
            if isinstance(armed.effect, kind) and (address is None or matches(armed.match, (address,))):
                return armed.effect
        return None

    def every(self, kind: type[E]) -> tuple[tuple[E, str], ...]:
        """All effects of a kind, each with its rule's match."""
        return tuple((armed.effect, armed.match) for armed in self.armed if isinstance(armed.effect, kind))

    @property
    def hang_before(self) -> Hang | None:
        """How long the call takes to reach the world."""
        return next((hang for hang, _ in self.every(Hang) if hang.is_before), None)

    @property
    def hang_after(self) -> Hang | None:
        """How long the reply takes."""
        return next((hang for hang, _ in self.every(Hang) if not hang.is_before), None)

    @property
    def drops_reply(self) -> bool:
        """Whether the reply is lost."""
        return self.first(DropReply) is not None


def matches(pattern: str, addresses: Iterable[str]) -> bool:
    """Whether a rule's or a question's match (exact address, glob, or empty for all) takes in any of ``addresses``."""
    return not pattern or any(address == pattern or fnmatchcase(address, pattern) for address in addresses)


def arm(tx: Transaction, operation: str, addresses: tuple[str, ...]) -> Effects:
    """The effects for this call; each matching rule counts it."""
    armed = [
        Armed(effect, rule.match)
        for rule in tx.rows(RuleRow, "operation = ?", operation, order="id")
        if not isinstance(effect := parse_effect(rule.effect), Unreachable) and matches(rule.match, addresses) and _counts(tx, rule)
    ]
    return Effects(tuple(armed))


def foreseen(tx: Transaction, operation: str, addresses: tuple[str, ...]) -> Effects:
    """The effects the next such call would meet; unlike the call this counts nothing."""
    rules = [rule for rule in tx.rows(RuleRow, "operation = ?", operation, order="id") if matches(rule.match, addresses)]
    return Effects(tuple(Armed(parse_effect(rule.effect), rule.match) for rule in rules if rule.seen + 1 >= (rule.nth or 1)))


def is_faulty(tx: Transaction, operation: str) -> bool:
    """Whether any fault is scripted for this operation."""
    return bool(tx.execute("SELECT 1 FROM rule WHERE operation = ? LIMIT 1", operation))


def is_unreachable(tx: Transaction, addresses: tuple[str, ...], *operations: str) -> bool:
    """Whether an ``unreachable`` rule on one of ``operations`` takes in these addresses.

    Such a rule speaks of the agent, not of the platform: on ``create`` it counts launches (the machine never answers), on ``agent`` and
    ``get`` it counts questions to the agent.
    """
    found = False
    for operation in operations:
        for rule in tx.rows(RuleRow, "operation = ?", operation, order="id"):
            if isinstance(parse_effect(rule.effect), Unreachable) and matches(rule.match, addresses):
                found = _counts(tx, rule) or found
    return found


def seems_unreachable(tx: Transaction, address: str) -> bool:
    """Whether the platform's own check of a machine fails now; unlike a question to the agent this counts nothing."""
    rules = [rule for operation in ("agent", "get") for rule in tx.rows(RuleRow, "operation = ?", operation, order="id")]
    return any(
        isinstance(parse_effect(rule.effect), Unreachable) and matches(rule.match, (address,)) and rule.seen + 1 >= (rule.nth or 1)
        for rule in rules
    )


def _counts(tx: Transaction, rule: RuleRow) -> bool:
    seen = rule.seen + 1
    is_due = rule.nth is None or seen >= rule.nth
    left = rule.times_left - 1 if is_due and rule.times_left is not None else rule.times_left
    if left == 0:
        tx.execute("DELETE FROM rule WHERE id = ?", rule.id)
    else:
        tx.put(replace(rule, seen=seen, times_left=left))
    return is_due


def add_rule(tx: Transaction, operation: str, match: str, *, nth: int | None, times: int | None, effect: str) -> FaultRule:
    """Script a fault; the words were checked before."""
    times_left = 1 if nth is not None and times is None else times
    rule = RuleRow(id=tx.next_number("rule"), operation=operation, match=match, nth=nth, times_left=times_left, effect=effect)
    tx.put(rule)
    return _shown(rule)


def rules(tx: Transaction) -> tuple[FaultRule, ...]:
    """Rules that may still act; one that is used up was removed."""
    return tuple(_shown(rule) for rule in tx.rows(RuleRow, order="id"))


def clear_rules(tx: Transaction) -> int:
    """Forget all rules; how many could still act."""
    count = len(rules(tx))
    tx.execute("DELETE FROM rule")
    return count


def record(tx: Transaction, operation: str, addresses: tuple[str, ...], token: str, outcome: str) -> None:
    """Write a call down."""
    tx.execute(
        "INSERT INTO call (time, operation, addresses, token, outcome) VALUES (?, ?, ?, ?, ?)",
        tx.now,
        operation,
        " ".join(addresses),
        token,
        outcome,
    )


def recorded(tx: Transaction, operation: str, match: str) -> tuple[CallRecord, ...]:
    """Calls in order; empty arguments take in all."""
    where = "WHERE operation = ?" if operation else "WHERE ? = ''"
    rows = tx.execute(f"SELECT sequence, time, addresses, operation, token, outcome FROM call {where} ORDER BY sequence", operation)
    return tuple(
        CallRecord(
            sequence=sequence,
            time=from_micro(time),
            operation=name,
            address=addresses.partition(" ")[0],
            token=token,
            outcome=outcome,
        )
        for sequence, time, addresses, name, token, outcome in rows
        if matches(match, addresses.split(" "))
    )


def _shown(rule: RuleRow) -> FaultRule:
    return FaultRule(id=rule.id, operation=rule.operation, match=rule.match, nth=rule.nth, times_left=rule.times_left, effect=rule.effect)
