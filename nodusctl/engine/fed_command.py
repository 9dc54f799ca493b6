"""A command of the project file, run with one JSON document on stdin, within a time limit, and ended with all it started.

The surprise: it may leave children behind that hold its output open, so its words go to a file, where nobody waits for their end.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How it ended. ``fault`` says why there is no exit code: it could not be run, or took too long. ``words`` are its own, cleaned."""

    code: int | None = None
    words: str = ""
    fault: str = ""

    @property
    def is_good(self) -> bool:
        """True where it ended by itself with 0."""
        return self.code == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FedCommand:
    """Run in the project's ``folder``; a program with a slash in its name is relative to it. ``most_words`` bounds what is kept of it.

    ``hears_stdout`` False drops what it prints on stdout.
    """

    words: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    limit_seconds: float
    most_words: int
    hears_stdout: bool = False

    def run(self, document: str) -> Ending:
        """Give it ``document`` and wait."""
        program = str(self.folder / self.words[0]) if "/" in self.words[0] else self.words[0]
        with tempfile.TemporaryFile() as said:
            try:
                process = subprocess.Popen(
                    [program, *self.words[1:]],
                    cwd=self.folder,
                    env=dict(self.environment),
                    stdin=subprocess.PIPE,
                    stdout=said if self.hears_stdout else subprocess.DEVNULL,
                    stderr=said,
                    start_new_session=True,
                )
            except OSError as problem:
                return Ending(fault=f"{self.words[0]} can't be run: {problem.strerror or problem}")
            fault = self._fed(process, document)
            said.seek(0)
            words = clean(said.read().decode(errors="replace").strip()[-self.most_words :])
            return Ending(words=words, fault=fault) if fault else Ending(code=process.returncode, words=words)

    def _fed(self, process: subprocess.Popen[bytes], document: str) -> str:
        try:
            process.communicate(document.encode(), timeout=self.limit_seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"{self.words[0]} took longer than {self.limit_seconds:g} seconds and was ended"
        return ""
