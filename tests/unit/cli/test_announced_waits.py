"""A wait for the plan lock that somebody notices is told, once, with the holder; a short one is not."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from support.commands import STATE_KEY
from support.open_states import kept

from nodusctl.cli.announced_waits import QUIET, AnnouncedClaims
from nodusctl.ports.claims import Locked
from nodusctl.store.opening import State, open_state
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.clocks import FakeWall
from nodusctl.testing.store_hooks import foreign_holder


@pytest.fixture
def wall() -> FakeWall:
    return FakeWall()


@pytest.fixture
def locked(tmp_path: Path, wall: FakeWall) -> State:
    """A state whose plan lock somebody on another computer holds."""

    def opened(**holder: object) -> State:
        url = "sqlite:///state.db"
        key = KeyMaterial(text=STATE_KEY)
        return kept(open_state(url, root=tmp_path, key=key, wall=wall, holder_command="nodusctl apply", **holder))  # type: ignore[arg-type]

    opened(holder=foreign_holder()).claims.take_plan_lock("nodusctl tick", timedelta(0))
    return opened()


def test_a_long_wait_is_told_once_with_the_holder_and_lasts_as_long_as_asked(locked: State, wall: FakeWall) -> None:
    said: list[str] = []
    with pytest.raises(Locked):
        AnnouncedClaims(locked.claims, said.append).take_plan_lock("nodusctl apply", timedelta(seconds=10))
    assert said == ["waiting up to 10s for the state's lock, held by bob@elsewhere.example pid 1 (nodusctl tick)"]
    assert 10 <= sum(wall.slept) < 10.5


@pytest.mark.parametrize("timeout", [timedelta(0), QUIET])
def test_a_short_wait_is_not_told(locked: State, wall: FakeWall, timeout: timedelta) -> None:
    said: list[str] = []
    with pytest.raises(Locked):
        AnnouncedClaims(locked.claims, said.append).take_plan_lock("nodusctl apply", timeout)
    assert (said, sum(wall.slept) <= timeout.total_seconds() + 0.5) == ([], True)


def test_a_lock_that_comes_free_meanwhile_is_taken(locked: State, wall: FakeWall) -> None:
    held = locked.claims.plan_lock()
    assert held is not None
    said: list[str] = []

    def leave(words: str) -> None:
        said.append(words)
        locked.claims.unlock(held.id)

    lock_id = AnnouncedClaims(locked.claims, leave).take_plan_lock("nodusctl apply", timedelta(seconds=10))
    now_held = locked.claims.plan_lock()
    assert now_held is not None and now_held.id == lock_id and len(said) == 1
