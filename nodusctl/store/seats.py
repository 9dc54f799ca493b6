"""The rules of claims and of the plan lock, without where they are stored: who may take what, and what is said about it.

A claim is a Seat at one object. Its fence counts all claims the object ever had, so a former holder is recognised however late it
comes back. An expired or dead claim is taken over and that is remarked; one of another host only once it has expired. A plan lock has
no expiry: another host's stays until a person removes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from nodusctl.attempts.events import Remarked
from nodusctl.ports.claims import Holder, Liveness, LockFacts, Work
from nodusctl.ports.journal import Claim
from nodusctl.store.holders import liveness, shown

GRACE = timedelta(seconds=30)
"""How long after its call's own limit a claim still stands (architecture.md, "Three locks")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """The newest claim of one object, held or given back."""

    object_uid: str
    fence: int
    step: str
    holder: Holder
    started_at: datetime
    heartbeat_at: datetime
    expires_at: datetime
    is_held: bool

    @property
    def claim(self) -> Claim:
        """As its holder knows it."""
        return Claim(object_uid=self.object_uid, fence=self.fence, holder=shown(self.holder))

    def is_of(self, claim: Claim) -> bool:
        """True while ``claim`` is this one and not given back."""
        return self.is_held and self.fence == claim.fence


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A claim somebody asks for at ``at``."""

    object_uid: str
    step: str
    limit: timedelta
    holder: Holder
    at: datetime
    preempts: bool = False


def seated(seat: Seat | None, wish: Wish) -> tuple[Seat, Remarked | None] | None:
    """The new Seat and what must be journalled about the old one; None while somebody who may be alive works there."""
    remark: Remarked | None = None
    if seat is not None and seat.is_held:
        remark = _takeover(seat, wish)
        if remark is None:
            return None
    taken = Seat(
        object_uid=wish.object_uid,
        fence=seat.fence + 1 if seat else 1,
        step=wish.step,
        holder=wish.holder,
        started_at=wish.at,
        heartbeat_at=wish.at,
        expires_at=wish.at + wish.limit + GRACE,
        is_held=True,
    )
    return taken, remark


def _takeover(seat: Seat, wish: Wish) -> Remarked | None:
    standing = liveness(seat.holder)
    if standing is Liveness.DEAD:
        return _remark(wish, "ClaimBroken", f"The claim of {shown(seat.holder)} for {seat.step} was broken: that process is gone.")
    if wish.at >= seat.expires_at:
        return _remark(wish, "ClaimBroken", f"The claim of {shown(seat.holder)} for {seat.step} was broken: it has expired.")
    if wish.preempts:
        return _remark(wish, "ClaimPreempted", f"{wish.step} took over from {shown(seat.holder)}, which was at {seat.step}.")
    return None


def _remark(wish: Wish, code: str, message: str) -> Remarked:
    return Remarked(time=wish.at, object_uid=wish.object_uid, code=code, message=message)


def beaten(seat: Seat, at: datetime) -> Seat:
    """The Seat with a fresh heartbeat; the expiry stays, since a call that outlives its limit is lost."""
    return replace(seat, heartbeat_at=at)


def work(seat: Seat | None, at: datetime) -> Work | None:
    """A held Seat as others are told of it; None for a free one."""
    if seat is None or not seat.is_held:
        return None
    return Work(
        step=seat.step,
        holder=seat.holder,
        liveness=liveness(seat.holder),
        silent_for=at - seat.heartbeat_at,
        ends_in=seat.expires_at - at,
    )


def lock_facts(lock_id: str, holder: Holder, started_at: datetime, heartbeat_at: datetime) -> LockFacts:
    """A plan lock with the liveness of its holder as of now."""
    return LockFacts(id=lock_id, holder=holder, started_at=started_at, heartbeat_at=heartbeat_at, liveness=liveness(holder))


def broken_lock(lock: LockFacts, at: datetime) -> Remarked:
    """What is journalled when a dead holder's plan lock is taken away."""
    return Remarked(
        time=at,
        object_uid="",
        code="LockBroken",
        message=f"The plan lock {lock.id} of {shown(lock.holder)} ({lock.holder.command}) was broken: that process is gone.",
    )


def removed_lock(lock: LockFacts, by: Holder, at: datetime) -> Remarked:
    """What is journalled when a person removes a plan lock by its id."""
    return Remarked(
        time=at, object_uid="", code="LockRemoved", message=f"{shown(by)} removed the plan lock {lock.id} of {shown(lock.holder)}."
    )
