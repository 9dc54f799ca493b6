"""Carrying a port of a machine's loopback to this computer's, and waiting until it is carried."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence

from nodusctl.remote.session import PersonLogin

_POLL_SECONDS = 0.05
_END_SECONDS = 5.0


def forward_command(login: PersonLogin, local_port: int, remote_port: int) -> list[str]:
    """ssh that only forwards; it ends where the port can't be had."""
    return [
        "ssh",
        *login.options,
        *("-o", "ExitOnForwardFailure=yes", "-o", "BatchMode=yes", "-N", "-T"),
        *("-L", f"127.0.0.1:{local_port}:127.0.0.1:{remote_port}"),
        *("-p", str(login.endpoint.port), "-l", login.endpoint.user, login.endpoint.host),
    ]


def local_port(wanted: int) -> int:
    """``wanted`` where it is free on this computer's loopback, else another one that is."""
    for port in (wanted, 0):
        with contextlib.suppress(OSError, OverflowError), contextlib.closing(socket.socket()) as probing:
            probing.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probing.bind(("127.0.0.1", port))
            return int(probing.getsockname()[1])
    raise OSError("no port of this computer's loopback is free")


@contextlib.contextmanager
def forwarding(words: Sequence[str], port: int, limit_seconds: float = 20.0) -> Iterator[subprocess.Popen[bytes]]:
    """The running ssh, once ``port`` takes connections; it ends with the block. OSError where it ends before or takes too long."""
    ssh = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + limit_seconds
        while not _takes_connections(port):
            if ssh.poll() is not None:
                raise OSError(f"ssh ended with status {ssh.returncode} before the port was forwarded")
            if time.monotonic() > deadline:
                raise OSError(f"the port was not forwarded within {limit_seconds:.0f} s")
            time.sleep(_POLL_SECONDS)
        yield ssh
    finally:
        ssh.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            ssh.wait(_END_SECONDS)
        if ssh.poll() is None:
            ssh.kill()
            ssh.wait()


def takes_token(port: int, token: str) -> bool:
    """True where JupyterLab with this token answers on a port of this computer."""
    request = f"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: token {token}\r\nConnection: close\r\n\r\n"
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=3.0) as connection:
        connection.sendall(request.encode())
        return connection.recv(64).startswith(b"HTTP/1.1 200")
    return False


def _takes_connections(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
        return True
    return False
