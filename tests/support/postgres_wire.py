"""A stretch of wire between a client and a PostgreSQL server that can be cut at a commit: just before the server gets it, or just after.

The server's unix socket is stood in for by another one. Everything is passed on as it comes; only a client's COMMIT is looked for.
"""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from support.postgres import Server

_SOCKET = ".s.PGSQL.5432"
_CHUNK = 65_536


class Cut(Enum):
    """Where the wire breaks at the next COMMIT."""

    NOWHERE = "nowhere"
    BEFORE = "before"
    AFTER = "after"


class Wire:
    """Listens under ``folder``; ``cut`` is where the next commit is lost, and how many were so far is in ``lost``."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.folder, self._server = folder, server
        self.cut, self.lost = Cut.NOWHERE, 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / _SOCKET))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, url: str) -> str:
        """``url`` of a state of the server, over this wire."""
        return url.replace(str(self._server.folder).replace("/", "%2F"), str(self.folder).replace("/", "%2F"))

    def close(self) -> None:
        """Let nobody in any more."""
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server.folder / _SOCKET))
                threading.Thread(target=self._carry, args=(client, server), daemon=True).start()
                threading.Thread(target=self._carry_back, args=(client, server), daemon=True).start()

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while words := client.recv(_CHUNK):
                if b"COMMIT" in words and self.cut is not Cut.NOWHERE:
                    cut, self.cut = self.cut, Cut.NOWHERE
                    self.lost += 1
                    client.shutdown(socket.SHUT_RDWR)
                    if cut is Cut.AFTER:
                        server.sendall(words)
                        server.recv(_CHUNK)
                    break
                server.sendall(words)
        server.close()
        client.close()

    def _carry_back(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while words := server.recv(_CHUNK):
                client.sendall(words)
            client.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def a_wire(server: Server) -> Iterator[Wire]:
    """A wire to ``server`` for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="nodus-wire-") as folder:
        wire = Wire(server, Path(folder))
        try:
            yield wire
        finally:
            wire.close()
