"""A Journal that remembers what it read and wrote, for as long as nobody else can have moved the object.

Between two waits an object is under our claim, so what we last read with what we wrote since is what is stored; reading it back at every
step would be most of the cost of a step. Whoever takes a claim forgets first; who wakes from a wait forgets what is older than half a
second, which bounds how late a stop from another process is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nodusctl.attempts.attempt import folded
from nodusctl.attempts.intents import Intent, IntentState
from nodusctl.base.clock import Wall
from nodusctl.ports.journal import Closing, Journal, Opening, StoredObject
from nodusctl.state.records import PutRecord, RemoveRecord

_FRESH_SECONDS = 0.5


class RememberingJournal:
    """Delegates to a Journal; ``load``, ``open``, ``close``, ``lineage`` and ``forget`` are its own."""

    def __init__(self, journal: Journal, wall: Wall) -> None:
        self._journal, self._wall = journal, wall
        self._known: dict[str, StoredObject | None] = {}
        self._read_at: dict[str, float] = {}
        self._lineage = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def lineage(self) -> str:
        self._lineage = self._lineage or self._journal.lineage()
        return self._lineage

    def load(self, uid: str) -> StoredObject | None:
        if uid not in self._known:
            self._known[uid] = self._journal.load(uid)
            self._read_at[uid] = self._wall.monotonic()
        return self._known[uid]

    def forget(self, uids: Iterable[str]) -> None:
        """Read these again next time."""
        for uid in uids:
            self._known.pop(uid, None)

    def age(self, uids: Iterable[str]) -> None:
        """Read again next time what was read more than half a second ago."""
        oldest = self._wall.monotonic() - _FRESH_SECONDS
        self.forget([uid for uid in uids if self._read_at.get(uid, oldest) <= oldest])

    def open(self, opening: Opening) -> None:
        self._journal.open(opening)
        self._follow(
            Closing(claim=opening.claim, intent=opening.intent, events=opening.events, entries=opening.entries, statuses=opening.statuses)
        )

    def close(self, closing: Closing) -> None:
        self._journal.close(closing)
        self._follow(closing)

    def _follow(self, written: Closing) -> None:
        for uid in _about(written) & self._known.keys():
            stored = self._known[uid]
            self._known[uid] = _after(stored, written) if stored is not None else None


def _about(written: Closing) -> set[str]:
    """The uids of the objects that something was written about."""
    uids = set(written.statuses) | {event.object_uid for event in written.events} | {entry.object_uid for entry in written.entries}
    uids |= {change.record.uid if isinstance(change, PutRecord) else change.uid for change in written.records}
    return uids | ({written.intent.object_uid} if written.intent is not None else set())


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
