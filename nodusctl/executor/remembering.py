"""A Journal that remembers what it read and wrote, for as long as nobody else can have moved the object.

Between two waits an object is under our claim, so what we last read with what we wrote since is what is stored; reading it back at every
step would be most of the cost of a step. Whoever waits or takes a claim forgets first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nodusctl.attempts.attempt import folded
from nodusctl.attempts.intents import Intent, IntentState
from nodusctl.ports.journal import Closing, Journal, Opening, StoredObject
from nodusctl.state.records import PutRecord, RemoveRecord


class RememberingJournal:
    """Delegates to a Journal; ``load``, ``open``, ``close``, ``lineage`` and ``forget`` are its own."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: dict[str, StoredObject | None] = {}
        self._lineage = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def lineage(self) -> str:
        self._lineage = self._lineage or self._journal.lineage()
        return self._lineage

    def load(self, uid: str) -> StoredObject | None:
        if uid not in self._known:
            self._known[uid] = self._journal.load(uid)
        return self._known[uid]

    def forget(self, uids: Iterable[str]) -> None:
        """Read these again next time."""
        for uid in uids:
            self._known.pop(uid, None)

    def open(self, opening: Opening) -> None:
        self._journal.open(opening)
        self._follow(
            Closing(claim=opening.claim, intent=opening.intent, events=opening.events, entries=opening.entries, statuses=opening.statuses)
        )

    def close(self, closing: Closing) -> None:
        self._journal.close(closing)
        self._follow(closing)

    def _follow(self, written: Closing) -> None:
        for uid, stored in self._known.items():
            if stored is not None and _is_about(uid, written):
                self._known[uid] = _after(stored, written)


def _is_about(uid: str, written: Closing) -> bool:
    changed = {c.record.uid if isinstance(c, PutRecord) else c.uid for c in written.records}
    return (
        uid in written.statuses
        or uid in changed
        or (written.intent is not None and written.intent.object_uid == uid)
        or any(event.object_uid == uid for event in written.events)
        or any(entry.object_uid == uid for entry in written.entries)
    )


def _after(stored: StoredObject, written: Closing) -> StoredObject | None:
    uid, record = stored.record.uid, stored.record
    for change in written.records:
        if isinstance(change, RemoveRecord) and change.uid == uid:
            return None
        if isinstance(change, PutRecord) and change.record.uid == uid:
            record = change.record
    own = {attempt.uid for attempt in stored.attempts}
    intent = written.intent
    return StoredObject(
        record=record,
        status=written.statuses.get(uid, stored.status),
        attempts=folded(stored.attempts, (e for e in written.events if e.object_uid == uid or e.attempt_uid in own)),
        intents=_intents(stored.intents, intent) if intent is not None and intent.object_uid == uid else stored.intents,
        entries=(*stored.entries, *(entry for entry in written.entries if entry.object_uid == uid)),
    )


def _intents(known: tuple[Intent, ...], intent: Intent) -> tuple[Intent, ...]:
    is_open = intent.state is IntentState.OPEN
    if any(one.id == intent.id for one in known):
        return tuple(intent if one.id == intent.id else one for one in known if is_open or one.id != intent.id)
    return (*known, intent) if is_open else known
