"""What one pass of the loop writes: gathered in order, and committed together before any of its calls is made.

Objects that are ready at the same time share one transaction, so that ten of them pay for one flush of the disk. Nothing is weaker for it:
an intent is still committed before its call starts, and what came of a call still goes in whole or not at all. What a crash takes is what
it took before, the pass under way: replies nobody wrote down, and intents whose calls were never made.

The surprise: a step learns only at the commit that its claim was lost, or that its hold no longer fits a limit. Its call isn't started
then, and whoever holds the object by now decides.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from nodusctl.ports.claims import Claims
from nodusctl.ports.journal import Change, Claim, Journal


class Commits:
    """The changes that wait, and the claims found lost when earlier ones were committed."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._waiting: list[Change] = []
        self._lost: set[Claim] = set()

    @property
    def waiting(self) -> tuple[Change, ...]:
        """What the next commit will hold."""
        return tuple(self._waiting)

    def add(self, change: Change) -> None:
        """Have ``change`` committed with the rest."""
        self._waiting.append(change)

    def gives_back(self, object_uid: str) -> bool:
        """True where the object's claim is among what waits to be given back."""
        return any(isinstance(change, Claim) and change.object_uid == object_uid for change in self._waiting)

    def flush(self) -> None:
        """Commit what waits. Where that raises nothing of it was written, and it isn't tried again."""
        if self._waiting:
            changes, self._waiting = self._waiting, []
            self._lost |= self._journal.commit(changes)

    def take_lost(self) -> frozenset[Claim]:
        """Claims found lost since this was asked last."""
        lost, self._lost = frozenset(self._lost), set()
        return lost


class PassClaims:
    """Claims whose giving back waits for the commit of what was written under them; everything else is done at once."""

    def __init__(self, claims: Claims, commits: Commits) -> None:
        self._claims, self._commits = claims, commits

    def __getattr__(self, name: str) -> Any:
        return getattr(self._claims, name)

    def claim(self, object_uid: str, step: str, limit: timedelta) -> Claim | None:
        """As ``Claims.claim``; one of our own that only waits to be given back is no hindrance."""
        if self._commits.gives_back(object_uid):
            self._commits.flush()
        return self._claims.claim(object_uid, step, limit)

    def drop(self, claim: Claim) -> None:
        """Give it back with the next commit."""
        self._commits.add(claim)
