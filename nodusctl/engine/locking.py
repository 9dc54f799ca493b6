"""Running something under the plan lock, and the message of a lock that is held."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from nodusctl.base.diagnostics import Diagnostic, error, note
from nodusctl.base.durations import format_duration
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.timestamps import format_time
from nodusctl.ports.claims import Claims, Locked, LockFacts

T = TypeVar("T")
_SECOND = timedelta(seconds=1)


def under_plan_lock(claims: Claims, command: str, timeout: timedelta, act: Callable[[], T]) -> T:
    """``act`` under the lock, which is given back whatever happens. UserError (13) where somebody else holds it."""
    try:
        lock_id = claims.take_plan_lock(command, timeout)
    except Locked as held:
        raise UserError(lock_error(held.lock, held.seen_at), exit_code=ExitCode.LOCKED) from None
    try:
        return act()
    finally:
        claims.drop_plan_lock(lock_id)


def lock_error(lock: LockFacts, now: datetime) -> Diagnostic:
    """All eight facts of a lock and the exact command that removes it."""
    return error("Locked", "The state is locked.", lock_words(lock, now), unlock_words(lock))


def lock_note(lock: LockFacts, now: datetime) -> Diagnostic:
    """The same for a reader, which neither waits nor breaks it."""
    return note("Locked", "The state is locked by another command.", lock_words(lock, now), unlock_words(lock))


def lock_words(lock: LockFacts, now: datetime) -> str:
    """Id, holder, host, pid, command, start and age, last heartbeat, and whether the holder lives."""
    holder = lock.holder
    age = format_duration(max(now - lock.started_at, timedelta(0)) // _SECOND * _SECOND)
    return "\n".join(
        (
            f"lock id: {lock.id}",
            f"holder: {holder.user}@{holder.host}, pid {holder.pid} ({lock.liveness})",
            f"command: {holder.command}",
            f"started: {format_time(lock.started_at)} ({age} ago)",
            f"last heartbeat: {format_time(lock.heartbeat_at)}",
        )
    )


def unlock_words(lock: LockFacts) -> str:
    """The exact command."""
    return f"If that command is really gone:\n  nodusctl unlock {lock.id}"
