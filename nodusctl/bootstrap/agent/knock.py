"""Carry questions from a login inside a sandbox to the keeper outside: stdin to the gate, the gate's answers to stdout.

It ends with the login, and as soon as the gate says no more. Run as a program of its own, dozens of times an hour, so it imports as
little as it can.
"""

import _socket
import os
import select
import sys


def main(gate: str) -> int:
    """Ask and print; 1 where nobody is behind the gate."""
    folder, name = os.path.split(gate)
    os.chdir(folder)  # a socket's path has room for 107 bytes
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect(name)
    except OSError as failure:
        sys.stderr.write(f"the machine's keeper does not answer: {failure}\n")
        return 1
    waited_for = [0, connection.fileno()]
    while True:
        due = select.select(waited_for, [], [])[0]
        if 0 in due and not _carry(os.read(0, 65536), connection.send):
            connection.shutdown(_socket.SHUT_WR)
            waited_for.remove(0)
        if connection.fileno() in due and not _carry(connection.recv(65536), lambda part: os.write(1, part)):
            return 0


def _carry(part, give) -> bool:  # type: ignore[no-untyped-def]  # plain functions of bytes; typing alone would cost 5 ms here
    """True where there was something to carry."""
    is_something = bool(part)
    while part:
        part = part[give(part) :]
    return is_something


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
