"""The one question the program asks. Only on a terminal; without one, ``--yes`` is asked for at once, before anything is done."""

from __future__ import annotations

from nodusctl.cli.surroundings import Surroundings
from nodusctl.cli.words import usage_error


def require_answerable(surroundings: Surroundings, *, is_agreed: bool, flag: str = "--yes") -> None:
    """Ends the command with 64 where nobody could answer."""
    if not (is_agreed or surroundings.can_ask):
        usage_error("This command asks before it acts, and there is no terminal to ask on", fix=f"add {flag} if you agree beforehand")


def agrees(surroundings: Surroundings, question: str) -> bool:
    """True only for ``yes`` or ``y``. Nothing has been written when a signal ends the waiting."""
    surroundings.stderr.write(f"{question} [y/N] ")
    surroundings.stderr.flush()
    return surroundings.stdin.readline().strip().lower() in {"y", "yes"}
