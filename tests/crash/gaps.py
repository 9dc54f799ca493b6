"""What a gap is called, so that it is the same gap in every run, and a fuse that burns in the gap of one name.

A gap lies before each thing a process does to the state or to the outside. It is named by that deed (which call, about what) and by what
was written down last, because that, and nothing else, is what a process killed there leaves behind. Both are the same in each run, however
fast the computer is that day.

Repeats have one name: whoever looks, asks, claims or gives a claim back once more has written down nothing since, so a process that dies
before the tenth look leaves exactly what one leaves that dies before the first. They are one gap, and its first occurrence is the one that
is reached for sure. In a simulated world time itself repeats exactly; there each repeat is counted as a gap of its own, for good measure.

Heartbeats are no gaps: whether there are any depends on the computer alone, and they move nothing but a claim's own time.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from support.exploding import Fuse

from nodusctl.attempts.intents import Intent
from nodusctl.ports.journal import Change, Closing, Opening
from nodusctl.provider.agent import AgentRequest

_NO_GAP = "heartbeat"
_WRITES = frozenset({"consume", "open", "close", "commit"})


class Gap(NamedTuple):
    """Before the ``number``-th ``deed`` after ``after`` was written down."""

    deed: str
    after: str
    number: int = 1

    def __str__(self) -> str:
        return f"{self.deed}, after {self.after}" + (f", time {self.number}" if self.number > 1 else "")


class Naming:
    """Names the gaps of one process as it comes to them."""

    def __init__(self) -> None:
        self._written, self._seen = "nothing", Counter[Gap]()

    def next(self, deed: str, arguments: Sequence[object]) -> Gap:
        """The gap before this deed."""
        gap = Gap(_described(deed, arguments), self._written)
        self._seen[gap] += 1
        if deed in _WRITES and gap.deed != "drop":
            self._written = gap.deed
        return gap._replace(number=self._seen[gap])


class Listing(Fuse):
    """Never burns; lists the gaps, the first of each name or every one."""

    def __init__(self, *, with_repeats: bool) -> None:
        super().__init__()
        self.gaps: list[Gap] = []
        self._naming, self._with_repeats = Naming(), with_repeats

    def burn(self, deed: str, *arguments: object) -> None:
        with self._lock:
            gap = self._naming.next(deed, arguments)
            if deed != _NO_GAP and (self._with_repeats or gap.number == 1):
                self.gaps.append(gap)


class NamedFuse(Fuse):
    """Dies in one gap, and leaves a file that says in which: no other death can be taken for it."""

    def __init__(self, gap: Gap, proof: Path) -> None:
        super().__init__()
        self._gap, self._proof, self._naming = gap, proof, Naming()

    def burn(self, deed: str, *arguments: object) -> None:
        with self._lock:
            if self._naming.next(deed, arguments) == self._gap:
                self._proof.write_text(str(self._gap))
                os.kill(os.getpid(), signal.SIGKILL)


def _described(deed: str, arguments: Sequence[object]) -> str:
    match deed, tuple(arguments):
        case "commit", (changes, *_):
            return _of_changes(changes)
        case (("open" | "close"), (Opening() | Closing() as change, *_)):
            return _of_change(change)
        case "ask", (_, AgentRequest() as request, *_):
            return f"ask {request.command}" + (" for the host key's sake" if set(request.files or ()) == {"host_key"} else "")
        case _:
            return deed


def _of_changes(changes: Iterable[Change]) -> str:
    words = [_of_change(change) for change in changes if isinstance(change, Opening | Closing)]
    return "commit of " + " and ".join(words) if words else "drop"


def _of_change(change: Opening | Closing) -> str:
    if isinstance(change, Opening):
        return f"intent {change.intent.step}"
    return f"{_of_intent(change.intent)} [{' '.join(type(event).__name__ for event in change.events)}]"


def _of_intent(intent: Intent | None) -> str:
    return "a note" if intent is None else f"{intent.step} {intent.outcome or intent.state}"
