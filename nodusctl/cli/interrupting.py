"""Ctrl-C and SIGTERM while machines are being worked on: the first is soft, the second leaves at once with intents saved."""

from __future__ import annotations

import signal
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

    def on_signal(number: int, frame: FrameType | None) -> None:
        arrived.was_terminated = arrived.was_terminated or number == signal.SIGTERM
        is_first = not arrived.interrupts.is_soft
        arrived.interrupts.interrupt()
        if is_first:
            output.remark(_SAID)

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
