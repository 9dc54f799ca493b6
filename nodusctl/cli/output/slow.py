"""Work without objects to report on (asking providers, reading prices): silence for two seconds, then a line, then one in ten seconds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from nodusctl.base.clock import Wall
from nodusctl.cli.output.protocol import Output

FIRST_SECONDS = 2.0
PERIOD_SECONDS = 9.0


@contextmanager
def told_when_slow(
    output: Output, wall: Wall, what: str, *, first_seconds: float = FIRST_SECONDS, period_seconds: float = PERIOD_SECONDS
) -> Iterator[None]:
    """Say ``what`` is going on where the block takes longer than two seconds; as JSON, heartbeats."""
    over = threading.Event()
    began = wall.monotonic()

    def tell() -> None:
        wait = first_seconds
        while not over.wait(wait):
            output.still(what, int(wall.monotonic() - began))
            wait = period_seconds

    thread = threading.Thread(target=tell, name="slow-work", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
