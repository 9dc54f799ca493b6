"""Ctrl-C and SIGTERM while machines are being worked on."""

from __future__ import annotations

import io
import os
import signal

import pytest

from nodusctl.base.clock import SystemWall
from nodusctl.base.exits import ExitCode
from nodusctl.cli.interrupting import interruptible
from nodusctl.cli.output.text import TextOutput


class Said(TextOutput):
    """A text output whose remarks can be counted."""

    def __init__(self) -> None:
        self.stderr = io.StringIO()
        super().__init__(io.StringIO(), self.stderr, SystemWall(), out_has_colour=False, err_has_colour=False)

    @property
    def remarks(self) -> list[str]:
        """Lines on stderr."""
        return self.stderr.getvalue().splitlines()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, ExitCode.INTERRUPTED), (signal.SIGTERM, ExitCode.TERMINATED)])
def test_the_first_signal_is_soft_and_the_second_is_hard(number: int, code: ExitCode) -> None:
    output = Said()
    with interruptible(output) as arrived:
        assert arrived.code(ExitCode.PARTIAL) is ExitCode.PARTIAL
        os.kill(os.getpid(), number)
        assert arrived.interrupts.is_soft and not arrived.interrupts.is_hard
        os.kill(os.getpid(), number)
        assert arrived.interrupts.is_hard
    assert arrived.code(ExitCode.PARTIAL) is code
    assert len(output.remarks) == 1


def test_the_handlers_of_before_are_back_afterwards() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with interruptible(Said()):
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
