"""The plan lock as a row: at most one, with everything its message prints."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, select

from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.ports.claims import Holder, Liveness, LockFacts
from nodusctl.store import journaling
from nodusctl.store.claiming import holder_row, read_holder
from nodusctl.store.schema import PLAN_LOCK
from nodusctl.store.seats import broken_lock, lock_facts, removed_lock
from nodusctl.store.statements import Statement

if TYPE_CHECKING:
    from sqlalchemy import Connection

_STANDING, _ADD = Statement(select(PLAN_LOCK)), Statement(insert(PLAN_LOCK))
_DROP = Statement(delete(PLAN_LOCK).where(PLAN_LOCK.c.id == bindparam("which")))


def standing(connection: Connection) -> LockFacts | None:
    """The lock as it is; nothing is broken."""
    row = _STANDING.first(connection)
    if row is None:
        return None
    return lock_facts(row["id"], read_holder(row), parse_time(row["started_at"]), parse_time(row["heartbeat_at"]))


def take(connection: Connection, lock_id: str, holder: Holder, at: datetime) -> LockFacts | None:
    """None when it is ours now, else the one that stands in the way. One whose holder is proved gone is broken."""
    lock = standing(connection)
    if lock is not None:
        if lock.liveness is not Liveness.DEAD:
            return lock
        journaling.append(connection, [broken_lock(lock, at)])
        drop(connection, lock.id)
    moment = format_time(at)
    _ADD.change(connection, place=1, id=lock_id, **holder_row(holder), started_at=moment, heartbeat_at=moment)
    return None


def drop(connection: Connection, lock_id: str) -> bool:
    """Remove the lock with this id; False where there is none."""
    return bool(_DROP.change(connection, which=lock_id))


def remove(connection: Connection, lock_id: str, by: Holder, at: datetime) -> bool:
    """A person's removal, journalled; False and nothing changed for another id."""
    lock = standing(connection)
    if lock is None or lock.id != lock_id:
        return False
    journaling.append(connection, [removed_lock(lock, by, at)])
    return drop(connection, lock_id)
