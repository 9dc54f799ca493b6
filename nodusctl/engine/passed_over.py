"""Openings that a pass has passed over: their phase never changes, so nothing else of a pass would tell of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nodusctl.base.ids import Address
from nodusctl.lifecycle.windows import has_openings
from nodusctl.ports.journal import Journal, StoredObject


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """One Workspace whose latest opening was passed over in this pass, and why."""

    address: Address
    phase: str
    reason: str
    message: str


def passed_over(journal: Journal, before: Mapping[Address, StoredObject], touched: Iterable[Address]) -> tuple[PassedOver, ...]:
    """Among the objects a pass was at. ``before`` is how the pass found them; where several were passed over, the last is told."""
    former = {
        one.record.uid: one.status.windows.skipped if one.status.windows is not None else ""
        for address in touched
        if (one := before.get(address)) is not None and has_openings(one.record.spec, one.record.annotations)
    }
    found = journal.load_many(former) if former else {}
    return tuple(
        PassedOver(
            address=stored.record.address,
            phase=str(stored.status.phase),
            reason=windows.skip_reason,
            message=f"its window of {windows.skipped} was passed over: {windows.skip_message}",
        )
        for uid, stored in found.items()
        if (windows := stored.status.windows) is not None and windows.skipped not in {"", former[uid]}
    )
