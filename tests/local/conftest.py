"""Tests of whole machines with walls: the same kit as the provider's own tests, plus servers on this computer to be reached or not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "local"))

from machine_kit import MachineKit


class _Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(f"{self.headers['Host']}{self.path}")  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"served\n")

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    """An HTTP server on this computer's loopback; ``asked`` lists host and path of each request."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answering)
    server.asked = []  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[MachineKit]:
    """Machines with walls; the name ``mirror.test`` leads to this computer by a setting."""
    kit = MachineKit(tmp_path, egressAddresses={"mirror.test": "127.0.0.1", "below.mirror.test": "127.0.0.1"})
    if not kit.is_isolated:
        pytest.skip(f"no sandboxes here: {kit.provider._isolation.abilities.obstacle}")
    yield kit
    kit.clear()
