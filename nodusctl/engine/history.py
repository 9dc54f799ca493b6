"""What this state's own past says about starts: the ground of a band once there is enough of it.

Only the newest Attempts are read: a platform's starts of two years ago say nothing about today's, and a plan must not take longer the
longer a state is in use. Two providers may sell one offering; each has a past of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import timedelta

from nodusctl.engine.sound_books import sound
from nodusctl.ports.journal import Journal

NEWEST = 1000
"""Attempts that are looked at, over all offerings."""

Startups = Mapping[tuple[str, str], tuple[timedelta, ...]]
"""How long starts took, by provider instance and offering id."""


def past_startups(journal: Journal) -> Startups:
    """How long the newest starts took, launch accepted to tools answering."""
    found: defaultdict[tuple[str, str], list[timedelta]] = defaultdict(list)
    with journal.books() as books:
        for attempt in sound(books.attempts(newest=NEWEST)):
            accepted, ready, terms = attempt.timings.acquired_at, attempt.timings.ready_at, attempt.terms
            if terms is not None and accepted is not None and ready is not None:
                found[terms.provider, terms.offering].append(ready - accepted)
    return {where: tuple(spans) for where, spans in found.items()}
