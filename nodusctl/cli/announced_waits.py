"""Locks and claims that say whom they wait for, where the wait for the plan lock is long enough to be noticed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from nodusctl.base.durations import format_duration
from nodusctl.ports.claims import Claims, Holder, Liveness, Locked, LockFacts, Work
from nodusctl.ports.journal import Claim

QUIET = timedelta(seconds=2)
"""A shorter wait is not worth a word."""


class AnnouncedClaims(Claims):
    """``claims``, whose waits are told to ``say``, once each."""

    def __init__(self, claims: Claims, say: Callable[[str], None]) -> None:
        self._claims, self._say = claims, say

    def take_plan_lock(self, command: str, timeout: timedelta) -> str:
        try:
            return self._claims.take_plan_lock(command, min(timeout, QUIET))
        except Locked as held:
            if timeout <= QUIET:
                raise
            self._say(f"waiting up to {format_duration(timeout)} for the state's lock, held by {_shown(held.lock)}")
        return self._claims.take_plan_lock(command, timeout - QUIET)

    def drop_plan_lock(self, lock_id: str) -> None:
        self._claims.drop_plan_lock(lock_id)

    def plan_lock(self) -> LockFacts | None:
        return self._claims.plan_lock()

    def unlock(self, lock_id: str) -> bool:
        return self._claims.unlock(lock_id)

    def claim(self, object_uid: str, step: str, limit: timedelta) -> Claim | None:
        return self._claims.claim(object_uid, step, limit)

    def preempt(self, object_uid: str, step: str, limit: timedelta) -> Claim:
        return self._claims.preempt(object_uid, step, limit)

    def heartbeat(self, claim: Claim) -> None:
        self._claims.heartbeat(claim)

    def drop(self, claim: Claim) -> None:
        self._claims.drop(claim)

    def work_on(self, object_uid: str) -> Work | None:
        return self._claims.work_on(object_uid)

    def claimed(self) -> tuple[tuple[str, str, Holder, Liveness], ...]:
        return self._claims.claimed()


def _shown(lock: LockFacts) -> str:
    holder = lock.holder
    return f"{holder.user}@{holder.host} pid {holder.pid} ({holder.command})"
