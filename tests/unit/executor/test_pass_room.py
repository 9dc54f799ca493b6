"""What limits have left for the objects of one run: asked again when it may have changed, and for nobody else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from support.effort import lines_of

from nodusctl.base.money import Money
from nodusctl.executor.passing import PassRoom
from nodusctl.ledger.room import CREDITS, HoldGuard
from nodusctl.state.records import Record

LIMIT = HoldGuard(name="budget/team", limit=Money.parse("10"))


class Asked:
    """A journal's room: 3 USD under every Budget, nothing granted. Counts who asks."""

    def __init__(self) -> None:
        self.times = 0
        self.room = PassRoom(lambda record: (LIMIT, CREDITS) if record.uid.startswith("bound") else (CREDITS,), self._left)

    def _left(self, guards: tuple[HoldGuard, ...]) -> tuple[Money | None, ...]:
        self.times += 1
        return tuple(Money.parse("3") if guard is LIMIT else None for guard in guards)

    def __call__(self, uid: str) -> tuple[Money | None, Money | None]:
        return self.room.left(cast("Record", SimpleNamespace(uid=uid)))


def test_what_is_limited_is_asked_again_once_an_entry_was_posted() -> None:
    asked = Asked()
    assert asked("bound") == asked("bound") == (Money.parse("3"), None)
    assert asked.times == 1
    asked.room.renew(0, 1)
    asked("bound")
    assert asked.times == 2


def test_where_nothing_limits_only_somebody_else_can_change_that() -> None:
    asked = Asked()
    asked("free")
    asked.room.renew(0, 1)
    assert asked("free") == (None, None)
    assert asked.times == 1
    asked.room.renew(1, 1)
    asked("free")
    assert asked.times == 2


def test_an_entry_that_was_posted_costs_the_same_among_many_objects() -> None:
    few, many = Asked(), Asked()
    for asked, count in ((few, 10), (many, 1000)):
        for number in range(count):
            asked(f"free-{number}")
            asked(f"bound-{number}")
    assert lines_of(lambda: many.room.renew(0, 1)) == lines_of(lambda: few.room.renew(0, 1))
