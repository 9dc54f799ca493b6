"""The project's ``notify`` command: a program that is run with one JSON document on stdin.

It has ten seconds, and what it prints is only read to say why it failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nodusctl.engine.fed_command import FedCommand

LIMIT_SECONDS = 10.0
_MOST_WORDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeCommand:
    """The command of the project file, run in the project's ``folder``; a program with a slash in its name is relative to it."""

    words: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    limit_seconds: float = LIMIT_SECONDS

    def __call__(self, document: str) -> str:
        """Run it; what went wrong, empty where it ended well in time."""
        command = FedCommand(
            words=self.words, folder=self.folder, environment=self.environment, limit_seconds=self.limit_seconds, most_words=_MOST_WORDS
        )
        ending = command.run(document)
        if ending.fault or ending.is_good:
            return ending.fault
        return f"{self.words[0]} ended with exit code {ending.code}. {ending.words}".strip()
