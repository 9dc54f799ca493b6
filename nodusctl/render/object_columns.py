"""Which columns a kind's table has. A column is a head and a path into the document, so a table can't say what the document doesn't."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
    """``path`` is dotted; ``money`` puts a dollar sign before the amount; ``is_wide_only`` needs ``-o wide``."""

    head: str
    path: str
    is_wide_only: bool = False
    is_number: bool = False
    is_money: bool = False

    def cell(self, document: Mapping[str, Any]) -> str:
        """The text of one cell; empty where the document has nothing there."""
        value: Any = document
        for step in self.path.split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        if value is None:
            return ""
        if isinstance(value, (list, tuple)):
            return ",".join(str(one) for one in value)
        return f"${value}" if self.is_money else str(value)


def _money(head: str, path: str, *, is_wide_only: bool = False) -> Column:
    return Column(head, path, is_wide_only, is_number=True, is_money=True)


_PHASE = (Column("PHASE", "status.phase"), Column("REASON", "status.reason"))
_COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "workspace": (
        *_PHASE,
        Column("OFFERING", "status.session.offering"),
        _money("RATE/H", "status.session.rateUSDPerHour"),
        _money("CHARGED", "status.cost.totalUSD"),
        _money("CAP", "spec.maxCostUSD"),
        Column("VOLUME", "spec.volume", True),
        Column("REVISION", "status.home.revision", True, is_number=True),
        Column("ATTEMPT", "status.session.attempt", True),
        Column("STOPREASON", "status.stopReason", True),
        Column("FUNDED UNTIL", "status.cost.fundedUntilTime", True),
        Column("NEXT START", "status.nextScheduledStartTime", True),
        Column("STOPS BY", "status.stopByTime", True),
    ),
    "function": (*_PHASE, Column("CODE", "spec.code.qualname"), _money("CAP", "spec.maxCostUSD")),
    "volume": (
        *_PHASE,
        Column("SIZE", "spec.size"),
        Column("REVISION", "status.revision", is_number=True),
        Column("HOLDER", "status.holder.name"),
        Column("LOCATION", "status.storage.location", True),
        Column("LAST COMMIT", "status.lastCommitTime", True),
        Column("DELETION", "spec.deletionPolicy", True),
    ),
    "secret": (Column("TYPE", "spec.type"), Column("VERSION", "status.version", is_number=True), Column("KEYS", "status.keys")),
    "sshkey": (Column("FINGERPRINT", "status.fingerprint"),),
    "budget": (
        _money("LIMIT", "spec.limitUSD"),
        Column("PERIOD", "spec.period"),
        Column("ACTION", "spec.action"),
        _money("SPENT", "status.spentUSD"),
        _money("HELD", "status.heldUSD"),
        _money("LEFT", "status.remainingUSD"),
        Column("USED %", "status.percentUsed", is_number=True),
        Column("PROJECT", "spec.scope.project", True),
        Column("THRESHOLDS", "spec.thresholds", True),
        Column("PERIOD ENDS", "status.currentPeriod.endTime", True),
    ),
    "attempt": (
        Column("PHASE", "status.phase"),
        Column("REASON", "status.reason"),
        Column("OFFERING", "status.placement.offering"),
        _money("RATE/H", "status.placement.rateUSDPerHour"),
        _money("COST", "status.actual.costUSD"),
        Column("HOURS", "status.actual.hours", True, is_number=True),
        Column("READY", "status.timings.commandStartedTime", True),
        Column("ENDED", "status.timings.finishedTime", True),
    ),
}


def columns_of(kind: str) -> tuple[Column, ...]:
    """The columns between NAME and AGE."""
    return _COLUMNS.get(kind, _PHASE)
