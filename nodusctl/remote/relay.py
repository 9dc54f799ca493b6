"""The stdio of a ProxyCommand carried to a machine's port and back, and the trace that says when a connection was last open.

The trace is one empty file a Workspace whose time of change is the last moment at which some connection from this computer was open; an
editor that was cut off by a stop must not start the machine again.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

_PART_BYTES = 1 << 16
_TRACE_SECONDS = 10.0
_END_SECONDS = 5.0


def last_open(trace: Path) -> datetime | None:
    """When a connection from this computer was last seen open; None for never."""
    try:
        return datetime.fromtimestamp(trace.stat().st_mtime, UTC)
    except FileNotFoundError:
        return None


def carry(host: str, port: int, trace: Path, source: int = 0, sink: int = 1) -> None:
    """Connect and carry both ways until the machine has said all. OSError where there is no connection."""
    with socket.create_connection((host, port), timeout=15.0) as connection:
        connection.settimeout(None)
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            _leave(trace)
            _carry(connection, trace, source, sink)
        finally:
            _leave(trace)


def carry_through(words: Sequence[str], trace: Path, source: int = 0, sink: int = 1) -> None:
    """As ``carry``, over the stdio of a program that makes the connection from elsewhere. OSError where it can't."""
    with _stdio_of(words) as connection:
        try:
            has_heard = _carry(connection, trace, source, sink)
        finally:
            connection.close()
    if has_heard:
        _leave(trace)
    else:
        raise OSError("no connection could be made from the host it is reached through")


@contextlib.contextmanager
def _stdio_of(words: Sequence[str]) -> Iterator[socket.socket]:
    """The running program's stdin and stdout as one socket; it ends with the block."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            program = subprocess.Popen(words, stdin=theirs.fileno(), stdout=theirs.fileno())
        try:
            yield ours
        finally:
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(_END_SECONDS)
            if program.poll() is None:
                program.kill()
                program.wait()


def _carry(connection: socket.socket, trace: Path, source: int, sink: int) -> bool:
    """True where the machine has said anything."""
    left, has_heard = time.monotonic(), False
    with selectors.DefaultSelector() as waiting:
        waiting.register(connection, selectors.EVENT_READ)
        # A plain file can't be waited for, and never blocks either.
        with contextlib.suppress(PermissionError):
            waiting.register(source, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select(_TRACE_SECONDS):
                if key.fileobj is connection:
                    part = connection.recv(_PART_BYTES)
                    if not part:
                        return has_heard
                    if not has_heard:
                        has_heard = True
                        _leave(trace)
                    _write(sink, part)
                else:
                    part = os.read(source, _PART_BYTES)
                    if part:
                        connection.sendall(part)
                    else:
                        waiting.unregister(source)
                        connection.shutdown(socket.SHUT_WR)
            if has_heard and time.monotonic() - left >= _TRACE_SECONDS:
                left = time.monotonic()
                _leave(trace)


def _write(sink: int, part: bytes) -> None:
    view = memoryview(part)
    while view:
        view = view[os.write(sink, view) :]


def _leave(trace: Path) -> None:
    with contextlib.suppress(OSError):
        trace.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        trace.touch()
