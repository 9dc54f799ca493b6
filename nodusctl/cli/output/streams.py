"""A stream that every line passes through: cleaned of secrets, and still usable when the reader has gone.

The surprise: a closed pipe (``nodusctl plan | head``) ends the printing, never the command. An apply that stopped half-way because
somebody quit ``less`` would be the worse bug.
"""

from __future__ import annotations

import threading
from typing import TextIO

from nodusctl.base.redaction import clean


class CleanStream:
    """Writes whole lines of redacted text; safe between threads."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._is_open = True

    def isatty(self) -> bool:
        """True when a person is reading."""
        return self._stream.isatty()

    def line(self, text: str) -> None:
        """Write ``text`` and a line end."""
        self.raw(clean(text) + "\n")

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
