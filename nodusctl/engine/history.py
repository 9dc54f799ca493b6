"""What this state's own past says about starts: the ground of a band once there is enough of it."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta

from nodusctl.ports.journal import Journal


def past_startups(journal: Journal) -> dict[str, tuple[timedelta, ...]]:
    """How long past starts took, launch accepted to tools answering, by offering."""
    found: defaultdict[str, list[timedelta]] = defaultdict(list)
    for attempt in journal.attempts():
        accepted, ready = attempt.timings.acquired_at, attempt.timings.ready_at
        if attempt.terms is not None and accepted is not None and ready is not None:
            found[attempt.terms.offering].append(ready - accepted)
    return {offering: tuple(spans) for offering, spans in found.items()}
