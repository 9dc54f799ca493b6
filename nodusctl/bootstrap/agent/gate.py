"""How the service key's commands come out of a sandbox: a socket in the vault, answered by the keeper.

Logins end inside the sandbox, but the edge, the process table and the door belong to the keeper outside. So the forced command only
carries its questions through this socket (``knock.py``), and a child of the keeper answers them. Whoever is inside can knock too; all that
can be asked for concerns this machine alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys

from . import answers, inside, processes
from .layout import Layout

NAME = "gate"
_QUESTION_LIMIT_SECONDS = 60.0


class Gate:
    """The listening end; ``handle`` is its descriptor for a select, or -1 where the machine needs no gate."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._socket: socket.socket | None = None
        self.handle = -1

    def open(self) -> None:
        """Listen, where logins can't reach the machine's folder."""
        if not inside.is_isolated(self._layout):
            return
        folder = os.open(self._layout.vault, os.O_RDONLY | os.O_DIRECTORY)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(NAME, dir_fd=folder)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        # Through the folder's descriptor: a socket's path has room for 107 bytes, a folder's can be longer.
        self._socket.bind(f"/proc/self/fd/{folder}/{NAME}")
        self._socket.listen(64)
        os.close(folder)
        self.handle = self._socket.fileno()

    def answer(self) -> None:
        """Give whoever knocks a child that answers; returns at once."""
        while self._socket is not None:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                if os.fork() == 0:
                    status = 1
                    with contextlib.suppress(BaseException):
                        status = self._serve(connection)
                    os._exit(status)

    def _serve(self, connection: socket.socket) -> int:
        processes.die_with_parent()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        connection.settimeout(_QUESTION_LIMIT_SECONDS)
        with contextlib.suppress(OSError):
            inside.enter_network(self._layout)
        with connection.makefile("r", encoding="utf-8") as source, connection.makefile("w", encoding="utf-8") as sink:
            status = answers.serve(self._layout, source, sink, connection.fileno())
        sys.stderr.flush()
        return status
