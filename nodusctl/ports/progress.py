"""Telling a person what is going on. Decides nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from nodusctl.base.ids import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressReport:
    """One object's place.

    ``phase`` as shown in status, ``step`` in words ("waiting for ssh"), ``is_over`` once nothing more happens in this command.
    """

    time: datetime
    address: Address
    phase: str
    step: str
    is_over: bool = False
    has_failed: bool = False


class Progress(Protocol):
    """Receives reports; renders at its own pace."""

    def report(self, report: ProgressReport) -> None:
        """One object moved."""
        ...

    def pulse(self) -> None:
        """Time passes; a heartbeat line may be due."""
        ...
