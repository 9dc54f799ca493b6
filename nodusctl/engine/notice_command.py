"""The project's ``notify`` command: a program that is run with one JSON document on stdin.

It has ten seconds, is ended with all it started, and what it prints is only read to say why it failed. The surprise: it may leave children
behind that hold its output open, so its words go to a file, where nobody waits for their end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nodusctl.base.redaction import clean

LIMIT_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeCommand:
    """The command of the project file, run in the project's ``folder``; a program with a slash in its name is relative to it."""

    words: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    limit_seconds: float = LIMIT_SECONDS

    def __call__(self, document: str) -> str:
        """Run it; what went wrong, empty where it ended well in time."""
        program = str(self.folder / self.words[0]) if "/" in self.words[0] else self.words[0]
        with tempfile.TemporaryFile() as said:
            try:
                process = subprocess.Popen(
                    [program, *self.words[1:]],
                    cwd=self.folder,
                    env=dict(self.environment),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    start_new_session=True,
                )
            except OSError as problem:
                return f"{self.words[0]} can't be run: {problem.strerror or problem}"
            fault = self._fed(process, document)
            if fault or not process.returncode:
                return fault
            said.seek(0)
            words = clean(said.read().decode(errors="replace").strip()[-300:])
            return f"{self.words[0]} ended with exit code {process.returncode}. {words}".strip()

    def _fed(self, process: subprocess.Popen[bytes], document: str) -> str:
        try:
            process.communicate(document.encode(), timeout=self.limit_seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"{self.words[0]} took longer than {self.limit_seconds:g} seconds and was ended"
        return ""
