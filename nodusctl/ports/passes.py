"""What is remembered of passes: when the last ones were, what they saw, and what went wrong. A dead ticker shows in nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class PassNote:
    """One pass of ``tick``. ``seen`` are the provider instances that told of their machines; no ``failures`` make a good pass.

    ``told`` are the happenings that stand and that somebody was told of, by this pass or an earlier one.
    """

    id: str
    started_at: datetime
    ended_at: datetime
    host: str
    seen: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    told: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """True where nothing went wrong."""
        return not self.failures


class Passes(Protocol):
    """The last passes over one state."""

    def note(self, one: PassNote) -> None:
        """Remember a pass that has ended; the oldest are forgotten."""
        ...

    def latest(self, limit: int = 20) -> tuple[PassNote, ...]:
        """Newest first; empty on a state that doesn't exist."""
        ...
