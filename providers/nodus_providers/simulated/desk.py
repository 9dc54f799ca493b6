"""How a call goes through the world: faults, one transaction, the record, the wait on the wall, the lost reply. In this order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TypeVar, assert_never

from nodus_providers.simulated.clock import Hanging
from nodus_providers.simulated.database import Transaction, WorldDatabase
from nodus_providers.simulated.effects import ECHO, Failure, Forbidden
from nodus_providers.simulated.gate import Effects, arm, is_faulty, record
from nodusctl.base.clock import Wall
from nodusctl.provider.replies import Done, Refused, Reply, Scope, Unknown

T = TypeVar("T")
Addresses = Callable[[Transaction], tuple[str, ...]]

_READS_ONE = ("get",)


class Desk:
    """Takes calls of one provider instance."""

    def __init__(self, database: WorldDatabase, wall: Wall, hanging: Hanging) -> None:
        self._database, self._wall, self._hanging = database, wall, hanging

    def take(
        self,
        operation: str,
        addresses: Addresses,
        token: str,
        act: Callable[[Transaction, Effects], Reply[T]],
        *,
        is_about_all: bool = False,
        said: str = "",
    ) -> Reply[T]:
        """Carry one call out.

        ``addresses`` says whose things it is about, as far as the world knows; they are written down unless ``is_about_all``.
        ``said`` is what the request carried, for a scripted error that echoes it. A call that hangs holds no transaction.
        """

        def accept(tx: Transaction) -> Reply[T]:
            reply = _scripted_refusal(operation, effects, said) or act(tx, effects)
            record(tx, operation, () if is_about_all else whose, token, _outcome(reply, effects))
            return reply

        with self._database.transaction() as tx:
            whose = addresses(tx)
            effects = arm(tx, operation, whose)
            if effects.hang_before is None:
                reply = accept(tx)
        if effects.hang_before is not None:
            self._hang(effects.hang_before.duration)
            with self._database.transaction() as tx:
                reply = accept(tx)
        if effects.hang_after is not None:
            self._hang(effects.hang_after.duration)
        return Unknown("the connection was lost before the reply came") if effects.drops_reply else reply

    def take_plain(self, operation: str, calls: Sequence[tuple[Addresses, Callable[[Transaction, Effects], T]]]) -> tuple[T, ...] | None:
        """Carry several calls out in one transaction, each recorded; None, and nothing done, where a fault of the operation is scripted."""
        with self._database.transaction() as tx:
            if is_faulty(tx, operation):
                return None
            found = []
            for addresses, act in calls:
                whose = addresses(tx)
                found.append(act(tx, Effects()))
                record(tx, operation, whose, "", "done")
            return tuple(found)

    def _hang(self, duration: timedelta) -> None:
        with self._hanging.one_more():
            self._wall.sleep(duration.total_seconds())


def _outcome(reply: Reply[T], effects: Effects) -> str:
    if effects.drops_reply:
        return "unknown"
    match reply:
        case Done():
            return "done"
        case Refused():
            return f"refused {reply.code}"
        case Unknown():
            return "unknown"
        case unexpected:
            assert_never(unexpected)


def _scripted_refusal(operation: str, effects: Effects, said: str) -> Refused | None:
    failure = effects.first(Failure)
    if failure is not None:
        return Refused(failure.code, failure.scope, failure.message.replace(ECHO, said), failure.retry_after)
    if effects.first(Forbidden) and operation not in _READS_ONE:
        return Refused("Forbidden", Scope.ACCOUNT, "this account may not do that")
    return None
