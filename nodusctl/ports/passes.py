"""What a pass reads before anything else, and what is remembered of passes: when the last ones were, what they saw, what went wrong.

A dead ticker shows in nothing else. The surprise: nearly all passes find nothing due, so these few questions stand apart from the Journal.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from nodusctl.lifecycle.passing import Brief


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """Every object in brief, by address, at one moment. ``lineage`` is empty on a state that doesn't exist yet."""

    lineage: str = ""
    briefs: tuple[Brief, ...] = ()


class Passes(Protocol):
    """The last passes over one state, and what the next one begins with."""

    def glance(self) -> Glance:
        """What tells whether anything is due."""
        ...

    def may_be_news(self) -> bool:
        """False where nothing that stands can be worth a notice: no home that could not be saved, nothing above its cap."""
        ...

    def note(self, one: PassNote) -> None:
        """Remember a pass that has ended; the oldest are forgotten."""
        ...

    def latest(self, limit: int = 20) -> tuple[PassNote, ...]:
        """Newest first; empty on a state that doesn't exist."""
        ...
