"""What a gap is called, so that it is the same gap in every run, and a fuse that burns in the gap of one name.

A gap lies before each thing a process does to the state or to the outside. It is named by that deed (which call, about what) and by what
was written down last, because that, and nothing else, is what a process killed there leaves behind. Both are the same in each run, however
fast the computer is that day.

After the last deed lies one more, THE_END: all is done, and nobody has heard of it.

Repeats are numbered: before the first look, the second, the third. What a process leaves that dies before one of them differs by nothing it
wrote down, and by all the outside did meanwhile. How many there are is a matter of the world: in a simulated one time itself repeats
exactly, so each is a gap; a real computer is made to need three (``slowness.py``), and what more of them a slow day brings is none of ours.

No gap: heartbeats, because whether there are any depends on the computer alone, and they move nothing but a claim's own time. Never come
by: ``preempt``, which takes a claim from a process that lives, and here one process at a time does.
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

THE_END = "the end"
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
    """Never burns; lists the gaps, of each name the first ``most``."""

    def __init__(self, most: float) -> None:
        super().__init__()
        self.gaps: list[Gap] = []
        self._naming, self._most = Naming(), most

    def burn(self, deed: str, *arguments: object) -> None:
        with self._lock:
            gap = self._naming.next(deed, arguments)
            if deed != _NO_GAP and gap.number <= self._most:
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
