"""A stream that every line passes through: cleaned of secrets, and still usable when the reader has gone.

The surprise: a closed pipe (``nodusctl plan | head``) ends the printing, never the command. An apply that stopped half-way because
somebody quit ``less`` would be the worse bug.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TextIO

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.redaction import clean


class CleanStream:
    """Writes whole lines of redacted text; safe between threads.

    ``fault`` is why writing ended where it was no reader's doing, such as a full disk. ``defused`` changes what a CI's runner would take
    for a command.
    """

    def __init__(self, stream: TextIO, defused: Callable[[str], str] = str) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._is_open = True
        self._defused = defused
        self.fault: OSError | None = None

    def isatty(self) -> bool:
        """True when a person is reading."""
        return self._stream.isatty()

    def line(self, text: str) -> None:
        """Write ``text`` and a line end."""
        self.raw(self._defused(clean(text)) + "\n")

    def raw(self, text: str) -> None:
        """Write text that is already clean."""
        with self._lock:
            if not self._is_open:
                return
            try:
                self._stream.write(text)
                self._stream.flush()
            except BrokenPipeError:
                self._is_open = False
            except OSError as fault:
                self._is_open, self.fault = False, fault

    def lost(self, name: str) -> tuple[Diagnostic, ...]:
        """The error of a stream called ``name`` that stopped taking words."""
        if self.fault is None:
            return ()
        return (error("OutputLost", "What was said could not all be written", f"{name}: {self.fault.strerror}."),)
