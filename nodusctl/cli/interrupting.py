"""Ctrl-C and SIGTERM while machines are being worked on: the first is soft, the second leaves at once with intents saved.

The surprise: the handler itself says nothing and wakes nobody. It runs in between two steps of the main thread, which may hold the very
lock that saying or waking takes; so it counts, and a thread of its own does the rest.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from nodusctl.base.exits import ExitCode
from nodusctl.cli.output.protocol import Output
from nodusctl.executor.runs import Interrupts

_SAID = "Interrupted: nothing new is started; what is in flight is finished. Once more to leave at once with its intents saved."


class Interruption:
    """What arrived while the block ran."""

    def __init__(self) -> None:
        self.interrupts = Interrupts()
        self.was_terminated = False

    def code(self, code: ExitCode) -> ExitCode:
        """130 or 143 where a signal ended the work, else the work's own code."""
        if not self.interrupts.is_soft:
            return code
        return ExitCode.TERMINATED if self.was_terminated else ExitCode.INTERRUPTED


@contextmanager
def interruptible(output: Output) -> Iterator[Interruption]:
    """Turn both signals into ``interrupts`` until the block ends."""
    arrived = Interruption()
    heard, told = os.pipe()

    def on_signal(number: int, frame: FrameType | None) -> None:
        arrived.was_terminated = arrived.was_terminated or number == signal.SIGTERM
        arrived.interrupts.count_one()
        os.write(told, b"!")

    def tell() -> None:
        is_first = True
        while os.read(heard, 1):
            arrived.interrupts.signal.set()
            if is_first:
                output.remark(_SAID)
            is_first = False

    teller = threading.Thread(target=tell, name="interrupts", daemon=True)
    teller.start()
    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(told)
        teller.join()
        os.close(heard)
