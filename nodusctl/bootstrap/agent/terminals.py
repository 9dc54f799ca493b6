"""What is said to people at their terminals before the machine stops."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence

from .samples import Terminal


def idle_warning(left_seconds: float, since: float) -> str:
    """Before an idle stop; ``since`` is when the machine was last used."""
    return f"nodusctl: this Workspace stops in {_span(left_seconds)} (idle since {_clock(since)}); any key keeps it running."


def edge_warning(left_seconds: float, at: float) -> str:
    """Before the armed edge; typing doesn't move it."""
    return f"nodusctl: this Workspace stops in {_span(left_seconds)}, at {_clock(at)}, as its deadline says. Save what isn't saved."


def farewell(why: str) -> str:
    """At the stop itself."""
    return f"nodusctl: this Workspace stops now ({why})."


def tell(terminals: Sequence[Terminal], line: str) -> list[Terminal]:
    """Write a line to each; returns those that could be told, as they stand afterwards, so that our line isn't taken for use."""
    told = []
    for one in terminals:
        # A terminal that somebody has halted takes nothing, and must not halt us.
        with contextlib.suppress(OSError):
            handle = os.open(one.path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                os.write(handle, f"\r\n{line}\r\n".encode())
            finally:
                os.close(handle)
            stat = os.stat(one.path)
            told.append(one._replace(read=stat.st_atime, written=stat.st_mtime))
    return told


def _span(seconds: float) -> str:
    return f"{round(seconds / 60)} min" if seconds >= 60 else f"{round(seconds)} s"


def _clock(wall: float) -> str:
    return time.strftime("%H:%M %Z", time.localtime(wall))
