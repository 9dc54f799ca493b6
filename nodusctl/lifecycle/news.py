"""What stands and is worth telling a person, whoever left it: a session above its cap, a home that could not be saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodusctl.base.money import Money

if TYPE_CHECKING:
    from nodusctl.state.snapshot import Standing
    from nodusctl.state.status import Condition, ObjectStatus

SAVE_FAILED = "SaveFailed"
"""The reason of a StateSaved condition that is False because saving did not work."""


def overrun(standing: Standing) -> Money | None:
    """How far what was charged is above ``maxCostUSD``; None where it isn't."""
    cap = standing.record.spec.get("maxCostUSD")
    over = standing.charged_usd - Money.parse(cap) if isinstance(cap, str) else None
    return over if over is not None and over.micro > 0 else None


def save_failure(status: ObjectStatus) -> Condition | None:
    """The condition that says that a home could not be saved; None where none does."""
    saved = next((one for one in status.conditions if one.type == "StateSaved"), None)
    return saved if saved is not None and saved.status == "False" and saved.reason == SAVE_FAILED else None
