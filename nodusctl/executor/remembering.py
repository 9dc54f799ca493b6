"""A Journal that remembers what it read and wrote, for as long as nobody else has written to the state.

What we last read, with what we wrote since, is what is stored; reading it back at every step would be most of the cost of a step. Whether
somebody else wrote is asked of the store at each pass and after each claim (``renew``), so a stop from another process is noticed at the
next pass, and what is decided under a claim is decided on what stands.

What is written waits for the pass's commit (``commits``), but is part of what this journal answers from the moment it was decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nodusctl.attempts.attempt import folded
from nodusctl.attempts.intents import Intent, IntentState
from nodusctl.base.money import Money
from nodusctl.executor.booting import SHARED_NAMES
from nodusctl.executor.commits import Commits
from nodusctl.ledger.room import HoldGuard, Tally, room_after
from nodusctl.ports.journal import Claim, Closing, Journal, Opening, StoredObject
from nodusctl.state.records import PutRecord, RecordChange, RemoveRecord

_SHORT = 1024
"""Sealed values up to this many characters are remembered; a first-boot document is longer, and what it shares with others is not."""


class RememberingJournal:
    """Delegates to a Journal; what is defined here is its own. ``moves`` counts how often somebody else was seen to have written,
    ``postings`` how often what limits have left may have changed.
    """

    def __init__(self, journal: Journal, commits: Commits) -> None:
        self._journal, self._commits = journal, commits
        self._known: dict[str, StoredObject | None] = {}
        self._sealed: dict[str, str] = {}
        self._version, self.moves, self.postings = journal.version(), 0, 0
        self._lineage = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def lineage(self) -> str:
        self._lineage = self._lineage or self._journal.lineage()
        return self._lineage

    def load(self, uid: str) -> StoredObject | None:
        if uid not in self._known:
            stored = self._journal.load(uid)
            for change in self._commits.waiting:
                stored = _after(stored, change) if stored is not None and not isinstance(change, Claim) else stored
            self._known[uid] = stored
        return self._known[uid]

    def read_ahead(self, uids: Iterable[str]) -> None:
        """Read several objects in one go, as far as they aren't known."""
        missing = [uid for uid in uids if uid not in self._known]
        if missing:
            self._known.update(self._journal.load_many(missing))

    def room(self, guards: Iterable[HoldGuard]) -> tuple[Money | None, ...]:
        """As ``Journal.room``, with the entries that wait counted."""
        limits = tuple(guards)
        waiting = Tally().post(entry for change in self._commits.waiting if not isinstance(change, Claim) for entry in change.entries)
        return tuple(room_after(left, guard, waiting) for left, guard in zip(self._journal.room(limits), limits, strict=True))

    def secret(self, name: str) -> str | None:
        for change in reversed(self._commits.waiting):
            if not isinstance(change, Claim) and name in change.sealed:
                return change.sealed[name]
            if isinstance(change, Closing) and name in change.forgotten:
                return None
        if name not in self._sealed:
            value = self._journal.secret(name)
            if value is None:
                return None
            self._remember({name: value})
            return value
        return self._sealed[name]

    def _remember(self, sealed: Mapping[str, str]) -> None:
        self._sealed.update({name: value for name, value in sealed.items() if len(value) <= _SHORT or name.startswith(SHARED_NAMES)})

    def renew(self) -> bool:
        """Read everything again next time where somebody else may have written since; whether that is so."""
        version = self._journal.version()
        has_moved = version != self._version
        if has_moved:
            self.moves += 1
            self.forget()
        self._version = version
        return has_moved

    def forget(self) -> None:
        """Read everything again next time."""
        self._known.clear()
        self._sealed.clear()
        self.postings += 1

    def open(self, opening: Opening) -> None:
        self._follow(opening)

    def close(self, closing: Closing) -> None:
        self._follow(closing)
        for name in closing.forgotten:
            self._sealed.pop(name, None)

    def _follow(self, written: Opening | Closing) -> None:
        self._commits.add(written)
        self.postings += bool(written.entries)
        self._remember(written.sealed)
        for uid in _about(written) & self._known.keys():
            stored = self._known[uid]
            self._known[uid] = _after(stored, written) if stored is not None else None


def _about(written: Opening | Closing) -> set[str]:
    """The uids of the objects that something was written about."""
    uids = set(written.statuses) | {event.object_uid for event in written.events} | {entry.object_uid for entry in written.entries}
    uids |= {change.record.uid if isinstance(change, PutRecord) else change.uid for change in _records(written)}
    return uids | ({written.intent.object_uid} if written.intent is not None else set())


def _records(written: Opening | Closing) -> tuple[RecordChange, ...]:
    return written.records if isinstance(written, Closing) else ()


def _after(stored: StoredObject, written: Opening | Closing) -> StoredObject | None:
    uid, record = stored.record.uid, stored.record
    for change in _records(written):
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
