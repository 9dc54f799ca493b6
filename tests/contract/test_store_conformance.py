"""All stores keep the same promises."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Protocol

import pytest
from support.open_states import kept
from support.postgres import Server

from nodusctl.ports.claims import Holder
from nodusctl.store.backups import Backups
from nodusctl.store.holders import this_holder
from nodusctl.store.memory import MemoryState
from nodusctl.store.opening import State, open_state, state_in
from nodusctl.store.postgres_place import PostgresPlace
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.store_conformance import MovedWall, StoreConformance, StoreUnderTest
from nodusctl.testing.store_hooks import STATE_KEY, SeenState

KEY = KeyMaterial(text=STATE_KEY)


class TestMemory(StoreConformance):
    def make_store(self, tmp_path: Path, wall: MovedWall) -> StoreUnderTest:
        memory = MemoryState(key=KEY, wall=wall)

        def seen_with(key: KeyMaterial) -> SeenState:
            journal, keys = memory.seen_with(key)
            return SeenState(journal=journal, keys=keys)

        return StoreUnderTest(journal=memory.journal, claims_of=memory.claims, wall=wall, seen_with=seen_with)


class TestSqlite(StoreConformance):
    def make_store(self, tmp_path: Path, wall: MovedWall) -> StoreUnderTest:
        def opened(holder: Holder | None = None, key: KeyMaterial = KEY) -> State:
            return kept(
                open_state("sqlite:///.nodus/state.db", root=tmp_path, key=key, wall=wall, holder_command="nodusctl apply", holder=holder)
            )

        return _under_test(opened, wall)


@pytest.mark.slow
class TestPostgres(StoreConformance):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: Server) -> Iterator[None]:
        self.server = postgres
        self.states: list[State] = []
        yield
        for state in self.states:
            state.close()

    def make_store(self, tmp_path: Path, wall: MovedWall) -> StoreUnderTest:
        from nodusctl.store.postgres_database import PostgresDatabase

        place = PostgresPlace(self.server.new_state())

        def opened(holder: Holder | None = None, key: KeyMaterial = KEY) -> State:
            # By the suite's wall, which stands still, and not by the server's time as ``open_state`` would.
            database = PostgresDatabase(place, wall, is_read_only=False)
            me = holder or this_holder("nodusctl apply")
            state = state_in(database, place={"url": place.shown}, key=key, wall=wall, holder=me, backups=Backups(tmp_path / "backups"))
            self.states.append(state)
            return state

        return _under_test(opened, wall)


class Open(Protocol):
    def __call__(self, holder: Holder | None = None, key: KeyMaterial = KEY) -> State: ...


def _under_test(opened: Open, wall: MovedWall) -> StoreUnderTest:
    def seen_with(key: KeyMaterial) -> SeenState:
        state = opened(key=key)
        return SeenState(journal=state.journal, keys=state.keys)

    return StoreUnderTest(journal=opened().journal, claims_of=cache(lambda holder: opened(holder).claims), wall=wall, seen_with=seen_with)
