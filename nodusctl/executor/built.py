"""Situations kept for as long as what they were built of stands: building one is most of the cost of a look that brings nothing.

A Situation is good while each thing it was read from is the very object the journal still answers with; a journal that reads afresh
answers with a new one each time, so nothing is kept there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nodusctl.lifecycle.situation import Situation
from nodusctl.ports.journal import StoredObject

Load = Callable[[str], StoredObject | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A Situation, and what was loaded for it: uid and answer."""

    situation: Situation
    loaded: tuple[tuple[str, StoredObject | None], ...]

    def stands(self, load: Load) -> bool:
        """True while nothing it was built of has moved."""
        return all(load(uid) is stored for uid, stored in self.loaded)


class Loading:
    """Notes what is loaded through it."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self.loaded: list[tuple[str, StoredObject | None]] = []

    def __call__(self, uid: str) -> StoredObject | None:
        stored = self._load(uid)
        self.loaded.append((uid, stored))
        return stored
