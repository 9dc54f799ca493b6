"""The one question the program asks. Only on a terminal; without one, ``--yes`` is asked for at once, before anything is done."""

from __future__ import annotations

import select
from typing import TextIO

from nodusctl.cli.surroundings import Surroundings
from nodusctl.cli.words import usage_error

_TURN_MILLISECONDS = 200


def require_answerable(surroundings: Surroundings, *, is_agreed: bool, flag: str = "--yes") -> None:
    """Ends the command with 64 where nobody could answer."""
    if not (is_agreed or surroundings.can_ask):
        usage_error("This command asks before it acts, and there is no terminal to ask on", fix=f"add {flag} if you agree beforehand")


def agrees(surroundings: Surroundings, question: str) -> bool:
    """True only for ``yes`` or ``y``. Nothing has been written when a signal ends the waiting."""
    surroundings.stderr.write(f"{question} [y/N] ")
    surroundings.stderr.flush()
    _await_words(surroundings.stdin)
    return surroundings.stdin.readline().strip().lower() in {"y", "yes"}


def _await_words(stdin: TextIO) -> None:
    """Wait in short turns: a signal that comes just before a read begins would be heard only after the answer."""
    try:
        descriptor = stdin.fileno()
    except (OSError, ValueError):
        return  # no file of the system's
    waiting = select.poll()
    waiting.register(descriptor)
    while not waiting.poll(_TURN_MILLISECONDS):
        pass
