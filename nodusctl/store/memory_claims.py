"""Claims and the plan lock over a Book, by the same rules as on disk."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from nodusctl.base.clock import Wall
from nodusctl.ports.claims import Holder, Liveness, Locked, LockFacts, Work
from nodusctl.ports.journal import Claim
from nodusctl.store.book import Book, HeldLock
from nodusctl.store.holders import liveness
from nodusctl.store.memory_changes import appended, given_back, require
from nodusctl.store.seats import Wish, beaten, broken_lock, lock_facts, removed_lock, seated, work

POLL_SECONDS = 0.05


class Books(Protocol):
    """Where the newest Book lies."""

    book: Book

    def change(self, next_book: Callable[[Book], Book]) -> Book:
        """Replace it."""
        ...


class MemoryClaims:
    """What one process may do now; ``holder`` is that process."""

    def __init__(self, books: Books, wall: Wall, holder: Holder) -> None:
        self._books, self._wall, self._holder = books, wall, holder

    def take_plan_lock(self, command: str, timeout: timedelta) -> str:
        lock_id, holder = str(uuid.uuid4()), replace(self._holder, command=command)
        give_up_at = self._wall.monotonic() + timeout.total_seconds()
        while True:
            now = self._wall.now()
            wanted = HeldLock(id=lock_id, holder=holder, started_at=now)
            lock = _facts(self._books.change(partial(_locked, wanted=wanted, now=now)))
            if lock is None or lock.id == lock_id:
                return lock_id
            if self._wall.monotonic() >= give_up_at:
                raise Locked(lock, self._wall.now())
            self._wall.sleep(POLL_SECONDS)

    def drop_plan_lock(self, lock_id: str) -> None:
        self._books.change(lambda book: _unlocked(book, lock_id))

    def plan_lock(self) -> LockFacts | None:
        return _facts(self._books.book)

    def unlock(self, lock_id: str) -> bool:
        lock = self.plan_lock()
        if lock is None or lock.id != lock_id:
            return False
        remark = removed_lock(lock, self._holder, self._wall.now())
        self._books.change(lambda book: appended(_unlocked(book, lock_id), [remark]))
        return True

    def claim(self, object_uid: str, step: str, limit: timedelta) -> Claim | None:
        return self._grant(Wish(object_uid=object_uid, step=step, limit=limit, holder=self._holder, at=self._wall.now()))

    def preempt(self, object_uid: str, step: str, limit: timedelta) -> Claim:
        wish = Wish(object_uid=object_uid, step=step, limit=limit, holder=self._holder, at=self._wall.now(), preempts=True)
        claim = self._grant(wish)
        if claim is None:
            raise AssertionError("a preemption is never refused")
        return claim

    def heartbeat(self, claim: Claim) -> None:
        def beat(book: Book) -> Book:
            return replace(book, seats={**book.seats, claim.object_uid: beaten(require(book, claim), self._wall.now())})

        self._books.change(beat)

    def drop(self, claim: Claim) -> None:
        self._books.change(lambda book: given_back(book, claim))

    def work_on(self, object_uid: str) -> Work | None:
        return work(self._books.book.seats.get(object_uid), self._wall.now())

    def claimed(self) -> tuple[tuple[str, str, Holder, Liveness], ...]:
        held = sorted((seat for seat in self._books.book.seats.values() if seat.is_held), key=lambda seat: seat.object_uid)
        return tuple((seat.object_uid, seat.step, seat.holder, liveness(seat.holder)) for seat in held)

    def _grant(self, wish: Wish) -> Claim | None:
        granted: list[Claim] = []

        def grant(book: Book) -> Book:
            outcome = seated(book.seats.get(wish.object_uid), wish)
            if outcome is None:
                return book
            seat, remark = outcome
            granted.append(seat.claim)
            return replace(appended(book, [remark] if remark else []), seats={**book.seats, wish.object_uid: seat})

        self._books.change(grant)
        return granted[0] if granted else None


def _locked(book: Book, wanted: HeldLock, now: datetime) -> Book:
    """The Book with ``wanted`` as its lock, or unchanged where a lock of somebody who may be alive stands."""
    lock = _facts(book)
    if lock is None:
        return replace(book, plan_lock=wanted)
    if lock.liveness is not Liveness.DEAD:
        return book
    return replace(appended(book, [broken_lock(lock, now)]), plan_lock=wanted)


def _unlocked(book: Book, lock_id: str) -> Book:
    return replace(book, plan_lock=None) if book.plan_lock is not None and book.plan_lock.id == lock_id else book


def _facts(book: Book) -> LockFacts | None:
    lock = book.plan_lock
    return lock_facts(lock.id, lock.holder, lock.started_at, lock.started_at) if lock else None
