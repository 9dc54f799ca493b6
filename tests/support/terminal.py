"""The real program in a process of its own: on a terminal that is its own, where Ctrl-C is typed; or with pipes, as in a script."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from support.commands import STATE_KEY, CommandLine

LIMIT_SECONDS = 60.0
CTRL_C = "\x03"
_TAKES_THE_TERMINAL = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
"""So that what is typed as Ctrl-C becomes its signal."""


def environment_of(cli: CommandLine) -> Mapping[str, str]:
    """The test's environment with the project's state key and what the project adds."""
    return {**os.environ, "NODUSCTL_STATE_KEY": STATE_KEY, **cli.environment}


def started(cli: CommandLine, *words: str, **streams: Any) -> subprocess.Popen[str]:
    """``nodusctl`` with the given streams, stdin closed unless one is given."""
    given: dict[str, Any] = {"stdin": subprocess.DEVNULL, **streams}
    command = [sys.executable, "-m", "nodusctl", *words]
    return subprocess.Popen(command, cwd=cli.folder, env=environment_of(cli), text=True, **given)


class OnTerminal:
    """One program on a terminal of its own."""

    def __init__(self, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TAKES_THE_TERMINAL, *words],
            cwd=folder,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**environment, "TERM": "xterm", "COLUMNS": "120"},
            start_new_session=True,
        )
        os.close(theirs)
        self.said = ""

    def read_until(self, is_there: Callable[[str], bool]) -> None:
        """Read until the words are there or the program ended."""
        ends_at = time.monotonic() + LIMIT_SECONDS
        while not is_there(self.said):
            assert time.monotonic() < ends_at, self.said
            if not self._has_words(1.0):
                continue
            try:
                piece = os.read(self._ours, 65536)
            except OSError:
                return
            self.said += piece.decode("utf-8", "replace")

    def _has_words(self, seconds: float) -> bool:
        """``poll``, because ``select`` can't take a descriptor above 1023."""
        asked = select.poll()
        asked.register(self._ours, select.POLLIN)
        return bool(asked.poll(seconds * 1000))

    def type(self, text: str) -> None:
        """Type at its terminal."""
        os.write(self._ours, text.encode())

    def end(self) -> int:
        """Read to the end; the exit code."""
        self.read_until(lambda said: False)
        return self.process.wait(LIMIT_SECONDS)


class Session(OnTerminal):
    """One ``nodusctl`` on a terminal of its own."""

    def __init__(self, cli: CommandLine, *words: str) -> None:
        super().__init__([sys.executable, "-m", "nodusctl", *words], cli.folder, environment_of(cli))
