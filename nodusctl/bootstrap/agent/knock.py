"""Carry one question from a login inside a sandbox to the keeper outside: stdin to the gate, the gate's answer to stdout.

Run as a program of its own, dozens of times an hour, so it imports as little as it can.
"""

import _socket
import os
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
    _carry(lambda: os.read(0, 65536), connection.send)
    connection.shutdown(_socket.SHUT_WR)
    _carry(lambda: connection.recv(65536), lambda part: os.write(1, part))
    return 0


def _carry(take, give) -> None:  # type: ignore[no-untyped-def]  # plain functions of bytes; typing alone would cost 5 ms here
    while part := take():
        while part:
            part = part[give(part) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
