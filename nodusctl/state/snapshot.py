"""The Snapshot: everything a plan compares against, read at one moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money
from nodusctl.state.records import Record
from nodusctl.state.status import ObjectStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One object: what is desired and where it stands. ``charged``/``held`` are derived from the ledger."""

    record: Record
    status: ObjectStatus
    charged_usd: Money = ZERO
    held_usd: Money = ZERO
    has_open_intent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All records at one serial. ``lineage`` is empty on a state that doesn't exist yet."""

    lineage: str = ""
    serial: int = 0
    standings: Mapping[Address, Standing] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Standing]:
        return iter(self.standings.values())

    def get(self, address: Address) -> Standing | None:
        """The object at ``address``, or None."""
        return self.standings.get(address)

    def by_uid(self, uid: str) -> Standing | None:
        """The object with this uid, or None."""
        return next((s for s in self.standings.values() if s.record.uid == uid), None)
