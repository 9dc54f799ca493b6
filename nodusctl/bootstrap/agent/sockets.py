"""The TCP connections of a network as the kernel counts them: ports, owner, bytes each way.

The kernel's own socket listing (sock_diag(7)) is read, because only there stands how much a connection has received. It shows the network
this process is in, and any user may ask. A kernel without it shows nothing.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_DUMP = 0x301
_DONE, _ERROR = 3, 2
_ESTABLISHED = 1 << 1
_WANTS_INFO = 1 << 1
_INFO = 2
# struct inet_diag_msg up to its attributes, and where struct tcp_info has its counters (linux/inet_diag.h, linux/tcp.h).
_MESSAGE_BYTES, _INODE_AT = 72, 68
_ACKED_AT, _SEGMENTS_AT, _INFO_BYTES = 120, 156, 160


class Connection(NamedTuple):
    """One established connection. ``inode`` is what /proc/PID/fd calls it; ``sent`` and ``received`` are bytes of payload."""

    local_port: int
    remote_port: int
    inode: str
    sent: int
    received: int
    segments: int


def established() -> list[Connection]:
    """All of this network; empty where the kernel doesn't say."""
    found: list[Connection] = []
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError, struct.error):
            found += _of_family(family)
    return found


def _of_family(family: int) -> list[Connection]:
    found: list[Connection] = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as asking:
        asking.settimeout(2.0)
        asked = struct.pack("=BBBxI48s", family, socket.IPPROTO_TCP, _WANTS_INFO, _ESTABLISHED, b"\0" * 40 + b"\xff" * 8)
        asking.send(struct.pack("=IHHII", 16 + len(asked), _SOCK_DIAG_BY_FAMILY, _DUMP, 1, 0) + asked)
        is_done = False
        while not is_done:
            for kind, body in _messages(asking.recv(1 << 16)):
                is_done = is_done or kind in (_DONE, _ERROR)
                found += [connection for connection in [None if is_done else _connection(body)] if connection]
    return found


def _messages(part: bytes) -> Iterator[tuple[int, bytes]]:
    position = 0
    while position + 16 <= len(part):
        length, kind = struct.unpack_from("=IH", part, position)
        yield kind, part[position + 16 : position + length]
        position += max(16, (length + 3) & ~3)


def _connection(body: bytes) -> Connection | None:
    local_port, remote_port = struct.unpack_from("!HH", body, 4)
    (inode,) = struct.unpack_from("=I", body, _INODE_AT)
    position = _MESSAGE_BYTES
    while position + 4 <= len(body):
        length, kind = struct.unpack_from("=HH", body, position)
        if kind == _INFO and length >= 4 + _INFO_BYTES:
            sent, received = struct.unpack_from("=QQ", body, position + 4 + _ACKED_AT)
            (segments,) = struct.unpack_from("=I", body, position + 4 + _SEGMENTS_AT)
            return Connection(local_port, remote_port, str(inode), sent, received, segments)
        position += max(4, (length + 3) & ~3)
    return None
