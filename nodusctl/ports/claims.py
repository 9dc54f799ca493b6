"""Locks and claims: short, named, and never held while waiting.

The plan lock covers comparing and consuming a plan. A claim covers one step of one object. Whoever needs one that belongs to a dead
process of this host breaks it, and that is journalled; another host's is never broken silently.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from nodusctl.ports.journal import Claim


class Liveness(StrEnum):
    """Whether a holder still runs, as far as this host can tell."""

    ALIVE = "alive"
    DEAD = "dead"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A process: user@host, pid with start time and boot id (a pid alone proves nothing), and what it runs."""

    user: str
    host: str
    pid: int
    start_ticks: int
    boot_id: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LockFacts:
    """All a lock message prints."""

    id: str
    holder: Holder
    started_at: datetime
    heartbeat_at: datetime
    liveness: Liveness


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Somebody at work on an object. ``silent_for`` is how long ago the last sign of life was; ``ends_in`` when the claim runs out."""

    step: str
    holder: Holder
    liveness: Liveness
    silent_for: timedelta
    ends_in: timedelta

    @property
    def shown(self) -> str:
        """``ada@lab1 pid 4711 (nodusctl apply) at LaunchMachine``."""
        return f"{self.holder.user}@{self.holder.host} pid {self.holder.pid} ({self.holder.command}) at {self.step}"


class Locked(Exception):
    """The plan lock is held by somebody who may be alive; ``seen_at`` is when we gave up waiting for it."""

    def __init__(self, lock: LockFacts, seen_at: datetime) -> None:
        super().__init__(lock.id)
        self.lock, self.seen_at = lock, seen_at


class Claims(Protocol):
    """Who may do what now."""

    def take_plan_lock(self, command: str, timeout: timedelta) -> str:
        """The lock's id; raises Locked after ``timeout``. A dead holder's lock of this host is broken."""
        ...

    def drop_plan_lock(self, lock_id: str) -> None:
        """Give it back; nothing happens if it is no longer ours."""
        ...

    def plan_lock(self) -> LockFacts | None:
        """The lock as it stands; never breaks it."""
        ...

    def unlock(self, lock_id: str) -> bool:
        """Remove the lock by its right id; False (and nothing changed) for another."""
        ...

    def claim(self, object_uid: str, step: str, limit: timedelta) -> Claim | None:
        """The claim for one step, or None while a living holder works on the object. ``limit`` is the call's own; it expires 30 s later."""
        ...

    def preempt(self, object_uid: str, step: str, limit: timedelta) -> Claim:
        """Take the object over from whoever holds it (a stop does); the former holder's next commit is StaleClaim."""
        ...

    def heartbeat(self, claim: Claim) -> None:
        """Still at it; raises StaleClaim when it was taken over."""
        ...

    def drop(self, claim: Claim) -> None:
        """The step is over."""
        ...

    def work_on(self, object_uid: str) -> Work | None:
        """Who works on an object now; None where nobody does."""
        ...

    def claimed(self) -> tuple[tuple[str, str, Holder, Liveness], ...]:
        """All claims: object uid, step, holder, liveness."""
        ...
