"""Claims as rows: one a claimed object, kept after the claim is given back so that its fence never falls."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select, update

from nodusctl.base.timestamps import format_time, parse_time
from nodusctl.ports.claims import Holder
from nodusctl.ports.journal import Claim, StaleClaim
from nodusctl.store import journaling
from nodusctl.store.schema import CLAIMS
from nodusctl.store.seats import Seat, Wish, beaten, seated
from nodusctl.store.statements import Row, Statement
from nodusctl.store.statements import put as replacing

if TYPE_CHECKING:
    from sqlalchemy import Connection

_PUT = Statement(replacing(CLAIMS))
_OF = Statement(select(CLAIMS).where(CLAIMS.c.object_uid == bindparam("uid")))
_STANDS = Statement(
    select(CLAIMS.c.command).where(CLAIMS.c.object_uid == bindparam("uid"), CLAIMS.c.fence == bindparam("number"), CLAIMS.c.is_held)
)
_HELD = Statement(select(CLAIMS).where(CLAIMS.c.is_held).order_by(CLAIMS.c.object_uid))
_GIVE_BACK = Statement(
    update(CLAIMS).where(CLAIMS.c.object_uid == bindparam("uid"), CLAIMS.c.fence == bindparam("number")).values(is_held=False)
)


def grant(connection: Connection, wish: Wish) -> Claim | None:
    """The claim, or None while somebody who may be alive works on the object."""
    outcome = seated(seat_of(connection, wish.object_uid), wish)
    if outcome is None:
        return None
    seat, remark = outcome
    if remark is not None:
        journaling.append(connection, [remark])
    put(connection, seat)
    return seat.claim


def require(connection: Connection, claim: Claim) -> str:
    """The command that holds ``claim``; StaleClaim where it was taken over or given back."""
    row = _STANDS.first(connection, uid=claim.object_uid, number=claim.fence)
    if row is None:
        raise StaleClaim(f"claim {claim.fence} of {claim.object_uid} is not the newest")
    return str(row["command"])


def beat(connection: Connection, claim: Claim, at: datetime) -> None:
    """A sign of life of its holder; StaleClaim as above."""
    require(connection, claim)
    seat = seat_of(connection, claim.object_uid)
    assert seat is not None, "it was required a moment ago"
    put(connection, beaten(seat, at))


def put(connection: Connection, seat: Seat) -> None:
    """Write a Seat in the place of the object's former one."""
    row = {
        "object_uid": seat.object_uid,
        "fence": seat.fence,
        "step": seat.step,
        **holder_row(seat.holder),
        "started_at": format_time(seat.started_at),
        "heartbeat_at": format_time(seat.heartbeat_at),
        "expires_at": format_time(seat.expires_at),
        "is_held": seat.is_held,
    }
    _PUT.change(connection, **row)


def give_back(connection: Connection, claim: Claim) -> None:
    """The step is over; nothing happens where somebody else holds the object by now."""
    _GIVE_BACK.change(connection, uid=claim.object_uid, number=claim.fence)


def held(connection: Connection) -> tuple[Seat, ...]:
    """All claims that weren't given back, by object uid."""
    return tuple(_read(row) for row in _HELD.rows(connection))


def seat_of(connection: Connection, object_uid: str) -> Seat | None:
    """The newest claim of an object, held or given back."""
    row = _OF.first(connection, uid=object_uid)
    return _read(row) if row is not None else None


def _read(row: Row) -> Seat:
    return Seat(
        object_uid=row["object_uid"],
        fence=row["fence"],
        step=row["step"],
        holder=read_holder(row),
        started_at=parse_time(row["started_at"]),
        heartbeat_at=parse_time(row["heartbeat_at"]),
        expires_at=parse_time(row["expires_at"]),
        is_held=bool(row["is_held"]),
    )


def holder_row(holder: Holder) -> dict[str, object]:
    """A holder as columns."""
    return {
        "user": holder.user,
        "host": holder.host,
        "pid": holder.pid,
        "start_ticks": holder.start_ticks,
        "boot_id": holder.boot_id,
        "command": holder.command,
    }


def read_holder(row: Row) -> Holder:
    """A holder from columns."""
    return Holder(
        user=row["user"], host=row["host"], pid=row["pid"], start_ticks=row["start_ticks"], boot_id=row["boot_id"], command=row["command"]
    )
