"""How often the limits of a state are reckoned: not at every step of every object, and yet by the right month."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.engine.budget_room import BudgetRoom
from nodusctl.ports.journal import Journal
from nodusctl.state.records import Record
from nodusctl.state.status import StorageStretch

NOON = datetime(2026, 10, 31, 12, tzinfo=UTC)
GIB = 2**30


class Shelf:
    """A journal with one Budget and one Volume, which counts how often disks are read."""

    def __init__(self) -> None:
        self.number, self.looks = 1, 0
        self.stretch = StorageStretch(since=NOON, size_bytes=730 * GIB, usd_per_gib_month=Money.parse("1.00"))

    def version(self) -> int:
        return self.number

    def records(self, kind: str) -> tuple[Any, ...]:
        specs = {"budget": {"limitUSD": "100.00", "period": "Monthly"}, "volume": {}}
        if kind not in specs:
            return ()
        return (SimpleNamespace(uid=f"{kind}-uid", address=Address(kind, "one"), spec=specs[kind], labels={}),)

    def load_many(self, uids: Any) -> dict[str, Any]:
        self.looks += 1
        return {uid: SimpleNamespace(status=SimpleNamespace(volume=SimpleNamespace(storage=self.stretch))) for uid in uids}


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def accrued(room: BudgetRoom) -> Money:
    record = cast("Record", SimpleNamespace(labels={}))
    return room.guards_for(record)[0].accrued


def test_disks_are_read_once_a_minute_and_again_once_somebody_else_has_written(shelf: Shelf) -> None:
    now = [NOON + timedelta(hours=1)]
    room = BudgetRoom(cast("Journal", shelf), "p", lambda: now[0])
    for _ in range(50):
        assert accrued(room) == Money.parse("1.00")
    assert shelf.looks == 1
    now[0] += timedelta(seconds=59)
    assert accrued(room) == Money.parse("1.00")
    now[0] += timedelta(seconds=1)
    assert accrued(room) > Money.parse("1.00")
    assert shelf.looks == 2
    shelf.number += 1
    accrued(room)
    assert shelf.looks == 3


def test_a_clock_that_was_put_back_counts_no_time_that_is_ahead(shelf: Shelf) -> None:
    now = [NOON + timedelta(hours=2)]
    room = BudgetRoom(cast("Journal", shelf), "p", lambda: now[0])
    assert accrued(room) == Money.parse("2.00")
    now[0] -= timedelta(hours=1)
    assert accrued(room) == Money.parse("1.00")


def test_a_new_month_counts_from_its_first_moment(shelf: Shelf) -> None:
    now = [datetime(2026, 10, 31, 23, 59, 30, tzinfo=UTC)]
    room = BudgetRoom(cast("Journal", shelf), "p", lambda: now[0])
    assert accrued(room) > Money.parse("11.98")
    now[0] = datetime(2026, 11, 1, 0, 0, 0, tzinfo=UTC)
    assert accrued(room) == Money.parse("0.00")
