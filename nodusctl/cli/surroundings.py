"""What the process was started in, read once: environment, folder, streams. A value, so that tests build their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """``folder`` is where a project is looked for: the current folder, or the one ``--chdir`` names."""

    environment: Mapping[str, str]
    arguments: tuple[str, ...]
    folder: Path
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO

    @property
    def can_ask(self) -> bool:
        """True when a person can read a question and type an answer."""
        return self.stdin.isatty() and self.stderr.isatty()
