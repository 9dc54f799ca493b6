"""How much is done, counted and not timed: it comes out the same on a busy computer, so two sizes can be compared."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_of(act: Callable[[], object]) -> int:
    """Lines of Python that ``act`` runs in this thread; an expression in a loop counts each time round."""
    count = 0

    def follow(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return follow

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


def steps_of(connection: sqlite3.Connection, act: Callable[[], object]) -> int:
    """Steps that SQLite takes on this connection while ``act`` runs; each row it looks at is a few."""
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        return 0

    connection.set_progress_handler(step, 1)
    try:
        act()
    finally:
        connection.set_progress_handler(None, 0)
    return count
