"""The way into a machine whose network is its own: a port of this computer's loopback, carried to the same port of the machine's.

No address and no shared socket is needed. A socket belongs to the network it was made in, so this process listens out here, steps into the
machine's network, and makes the other end of each connection there.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading

from . import inside
from .layout import Layout

_LOOPBACK = "127.0.0.1"
_CHUNK_BYTES = 65536


def serve(layout: Layout, port: int) -> int:
    """Carry until this process is ended. OSError where the port is taken or the network can't be entered."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_LOOPBACK, port))
        listener.listen(128)
        inside.enter_network(layout)
        while True:
            outer, _ = listener.accept()
            threading.Thread(target=_join, args=(outer, port), daemon=True).start()


def _join(outer: socket.socket, port: int) -> None:
    with outer:
        try:
            inner = socket.create_connection((_LOOPBACK, port), timeout=5.0)
        except OSError:
            return
        with inner:
            inner.settimeout(None)
            back = threading.Thread(target=_carry, args=(inner, outer), daemon=True)
            back.start()
            _carry(outer, inner)
            back.join()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(_CHUNK_BYTES):
            sink.sendall(part)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    sys.exit(serve(Layout(sys.argv[1]), int(sys.argv[2])))
