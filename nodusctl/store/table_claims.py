"""Claims and the plan lock in tables, judged by the wall clock. A power cut may take their commits back: it takes their holders too."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from nodusctl.base.clock import Wall
from nodusctl.ports.claims import Holder, Liveness, Locked, LockFacts, Work
from nodusctl.ports.journal import Claim
from nodusctl.store import claiming, plan_lock
from nodusctl.store.databases import Database
from nodusctl.store.holders import liveness
from nodusctl.store.seats import Seat, Wish, work

if TYPE_CHECKING:
    from sqlalchemy import Connection

T = TypeVar("T")
POLL_SECONDS = 0.05


class TableClaims:
    """What one process may do now; ``holder`` is that process."""

    def __init__(self, database: Database, wall: Wall, holder: Holder) -> None:
        self._database, self._wall, self._holder = database, wall, holder

    def take_plan_lock(self, command: str, timeout: timedelta) -> str:
        lock_id = str(uuid.uuid4())
        holder = replace(self._holder, command=command)
        give_up_at = self._wall.monotonic() + timeout.total_seconds()
        while True:
            lock = self._standing_in_the_way()
            if lock is None:
                lock = self._change(lambda connection: plan_lock.take(connection, lock_id, holder, self._wall.now()))
            if lock is None:
                return lock_id
            if self._wall.monotonic() >= give_up_at:
                raise Locked(lock, self._wall.now())
            self._wall.sleep(POLL_SECONDS)

    def _standing_in_the_way(self) -> LockFacts | None:
        """Asked by reading first: whoever waits must not take turns writing with those who work."""
        lock = self.plan_lock()
        return lock if lock is not None and lock.liveness is not Liveness.DEAD else None

    def drop_plan_lock(self, lock_id: str) -> None:
        if self._database.has_tables():
            self._change(lambda connection: plan_lock.drop(connection, lock_id))

    def plan_lock(self) -> LockFacts | None:
        return self._database.reading(plan_lock.standing, None)

    def unlock(self, lock_id: str) -> bool:
        lock = self.plan_lock()
        if lock is None or lock.id != lock_id:
            return False
        return self._database.changing(lambda connection: plan_lock.remove(connection, lock_id, self._holder, self._wall.now()))

    def claim(self, object_uid: str, step: str, limit: timedelta) -> Claim | None:
        return self._grant(self._wish(object_uid, step, limit, preempts=False))

    def preempt(self, object_uid: str, step: str, limit: timedelta) -> Claim:
        claim = self._grant(self._wish(object_uid, step, limit, preempts=True))
        if claim is None:
            raise AssertionError("a preemption is never refused")
        return claim

    def heartbeat(self, claim: Claim) -> None:
        self._change(lambda connection: claiming.beat(connection, claim, self._wall.now()))

    def drop(self, claim: Claim) -> None:
        self._change(lambda connection: claiming.give_back(connection, claim))

    def work_on(self, object_uid: str) -> Work | None:
        seat: Seat | None = self._database.reading(lambda connection: claiming.seat_of(connection, object_uid), None)
        return work(seat, self._wall.now())

    def claimed(self) -> tuple[tuple[str, str, Holder, Liveness], ...]:
        seats: tuple[Seat, ...] = self._database.reading(claiming.held, ())
        return tuple((seat.object_uid, seat.step, seat.holder, liveness(seat.holder)) for seat in seats)

    def _wish(self, object_uid: str, step: str, limit: timedelta, *, preempts: bool) -> Wish:
        return Wish(object_uid=object_uid, step=step, limit=limit, holder=self._holder, at=self._wall.now(), preempts=preempts)

    def _grant(self, wish: Wish) -> Claim | None:
        return self._change(lambda connection: claiming.grant(connection, wish))

    def _change(self, act: Callable[[Connection], T]) -> T:
        return self._database.changing(act, is_durable=False)
