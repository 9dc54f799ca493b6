"""Both stores keep the same promises."""

from __future__ import annotations

from pathlib import Path

from nodusctl.ports.claims import Claims, Holder
from nodusctl.store.memory import MemoryState
from nodusctl.store.opening import State, open_state
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.store_conformance import MovedWall, StoreConformance, StoreUnderTest
from nodusctl.testing.store_hooks import STATE_KEY

KEY = KeyMaterial(text=STATE_KEY)


class TestMemory(StoreConformance):
    def make_store(self, tmp_path: Path, wall: MovedWall) -> StoreUnderTest:
        memory = MemoryState(key=KEY, wall=wall)
        return StoreUnderTest(journal=memory.journal, claims_of=memory.claims, wall=wall)


class TestSqlite(StoreConformance):
    def make_store(self, tmp_path: Path, wall: MovedWall) -> StoreUnderTest:
        def opened(holder: Holder | None = None) -> State:
            return open_state(
                "sqlite:///.nodus/state.db", root=tmp_path, key=KEY, wall=wall, holder_command="nodusctl apply", holder=holder
            )

        def claims_of(holder: Holder) -> Claims:
            return opened(holder).claims

        return StoreUnderTest(journal=opened().journal, claims_of=claims_of, wall=wall)
