"""Intents as rows: opened once, closed once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, select, update

from nodusctl.attempts.intents import Intent, IntentState
from nodusctl.ports.journal import StaleClaim
from nodusctl.store.codec import decode, encode
from nodusctl.store.freetext import without_secrets
from nodusctl.store.schema import INTENTS
from nodusctl.store.statements import Statement, among, listed

if TYPE_CHECKING:
    from sqlalchemy import Connection

_ADD = Statement(insert(INTENTS))
_MOVE_ON = Statement(
    update(INTENTS)
    .where(INTENTS.c.id == bindparam("which"), INTENTS.c.state == IntentState.OPEN.value)
    .values(state=bindparam("now"), body=bindparam("text"))
)
_open = select(INTENTS.c.body).where(INTENTS.c.state == IntentState.OPEN.value).order_by(INTENTS.c.sequence)
_ALL_OPEN, _OPEN_OF = Statement(_open), Statement(_open.where(among(INTENTS.c.object_uid, "uids")))


def add(connection: Connection, intent: Intent) -> None:
    """Write a new intent; an id that was ever used is a bug and raises IntegrityError."""
    _ADD.change(
        connection,
        id=intent.id,
        object_uid=intent.object_uid,
        target_uid=intent.target_uid,
        state=intent.state.value,
        body=encode(without_secrets(intent)),
    )


def move_on(connection: Connection, intent: Intent) -> None:
    """Give an open intent its new form; StaleClaim where it isn't open any more."""
    text = encode(without_secrets(intent))
    if _MOVE_ON.change(connection, which=intent.id, now=intent.state.value, text=text) != 1:
        raise StaleClaim(f"intent {intent.id} is not open")


def open_ones(connection: Connection, object_uids: Sequence[str] | None = None) -> tuple[Intent, ...]:
    """Open intents, oldest first; of the objects that opened them, or all."""
    bodies = _ALL_OPEN.values(connection) if object_uids is None else _OPEN_OF.values(connection, uids=listed(object_uids))
    return tuple(decode(Intent, body) for body in bodies)


def touched(intents: Iterable[Intent]) -> frozenset[str]:
    """Uids of all objects with something open: those that opened it and those it changes."""
    return frozenset(uid for intent in intents for uid in (intent.object_uid, intent.target_uid))
