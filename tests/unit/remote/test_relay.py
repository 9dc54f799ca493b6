"""The ProxyCommand's relay: every byte both ways, and a trace of when it was last open."""

from __future__ import annotations

import os
import socket
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nodusctl.remote.relay import carry, last_open


def test_bytes_go_both_ways_whole_and_the_trace_is_left(tmp_path: Path) -> None:
    sent, answer = os.urandom(3_000_000), os.urandom(3_000_000)
    received = bytearray()

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            while part := connection.recv(65536):
                received.extend(part)
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        (tmp_path / "in").write_bytes(sent)
        reading, writing = os.pipe()
        feeder = threading.Thread(target=_feed, args=(writing, sent))
        feeder.start()
        with (tmp_path / "out").open("wb") as sink:
            carry("127.0.0.1", listener.getsockname()[1], tmp_path / "trace" / "lab", reading, sink.fileno())
        server.join()
        feeder.join()
        os.close(reading)
    assert bytes(received) == sent
    assert (tmp_path / "out").read_bytes() == answer
    seen = last_open(tmp_path / "trace" / "lab")
    assert seen is not None
    assert abs((datetime.now(UTC) - seen).total_seconds()) < 10


def test_nobody_listening_is_an_error_and_leaves_no_trace(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(OSError, match="refused"):
            carry("127.0.0.1", unused.getsockname()[1], tmp_path / "trace")
    assert last_open(tmp_path / "trace") is None


def _feed(handle: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(handle, view) :]
    os.close(handle)
