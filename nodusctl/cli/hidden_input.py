"""One line from the terminal that the terminal doesn't show. Echo is given back whatever happens, a signal included."""

from __future__ import annotations

import io

from nodusctl.cli.surroundings import Surroundings


def read_hidden(surroundings: Surroundings, question: str) -> str:
    """The line without its break; the question goes to stderr, so that stdout stays clean."""
    surroundings.stderr.write(question)
    surroundings.stderr.flush()
    try:
        return _without_echo(surroundings)
    finally:
        surroundings.stderr.write("\n")
        surroundings.stderr.flush()


def _without_echo(surroundings: Surroundings) -> str:
    import termios

    try:
        number = surroundings.stdin.fileno()
        before = termios.tcgetattr(number)
    except (io.UnsupportedOperation, termios.error):
        return surroundings.stdin.readline().rstrip("\r\n")
    hidden = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
    try:
        termios.tcsetattr(number, termios.TCSAFLUSH, hidden)
        return surroundings.stdin.readline().rstrip("\r\n")
    finally:
        termios.tcsetattr(number, termios.TCSAFLUSH, before)
