"""The only way out of a machine under AllowList: a proxy that connects to allowed names and to nothing else.

It runs outside the machine, on a listening socket that was made inside it, so a machine without any interface reaches exactly what passes
here; a client that ignores the proxy reaches nothing. It resolves names itself, once, and connects to the address it has looked at, so a
name can't lead to another address between the look and the connection. Refused are names that aren't listed, addresses written as numbers,
and names that resolve to an address that isn't public (this computer, its network, link-local, cloud metadata).

A program of its own: copied into the machine's folder and run there with the standard library only.
"""

from __future__ import annotations

import argparse
import contextlib
import ipaddress
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import urlsplit

Lookup = Callable[[str, int], list[str]]
_HEAD_LIMIT_BYTES = 65536
_HEAD_LIMIT_SECONDS = 30.0
_CONNECT_LIMIT_SECONDS = 15.0
_MOST_CONNECTIONS = 512
_CHUNK_BYTES = 65536
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")


class DeniedError(Exception):
    """Not let out; the text says why and goes to the client."""


class Rules:
    """What is let out: exact names, ``*.suffix`` for names below a suffix (not the suffix itself), and addresses given for names."""

    def __init__(self, allow: Iterable[str], addresses: Mapping[str, str], lookup: Lookup) -> None:
        patterns = [_plain(pattern) for pattern in allow]
        self._names = {pattern for pattern in patterns if not pattern.startswith("*.")}
        self._suffixes = tuple(pattern[1:] for pattern in patterns if pattern.startswith("*."))
        self._addresses = {_plain(name): address for name, address in addresses.items()}
        self._lookup = lookup

    def addresses_of(self, host: str, port: int) -> list[str]:
        """Where to connect for an allowed name; DeniedError for anything else.

        An address that a setting gives for a name is taken as it is: that is how a mirror in one's own network is let in on purpose.
        """
        name = _plain(host)
        if _is_number(name):
            raise DeniedError(f"{host} is an address; names only are let out")
        if name not in self._names and not name.endswith(self._suffixes or ("\0",)):
            raise DeniedError(f"{host} is not in network.egress.allow and in none of its presets")
        if name in self._addresses:
            return [self._addresses[name]]
        try:
            found = self._lookup(name, port)
        except OSError as failure:
            raise DeniedError(f"{host} can't be resolved: {failure}") from failure
        public = [address for address in found if is_public(address)]
        if not public:
            raise DeniedError(f"{host} resolves to no public address")
        return public


def is_public(address: str) -> bool:
    """True for an address of the public internet; an IPv4 address wrapped into an IPv6 one is looked at itself."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo[1] if parsed.teredo else None)
        if parsed in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved


def resolve(host: str, port: int) -> list[str]:
    """The host's own resolver."""
    return list(dict.fromkeys(str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))


class Proxy:
    """Serves connections of one listening socket, a thread each."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._slots = threading.BoundedSemaphore(_MOST_CONNECTIONS)

    def serve(self, listener: socket.socket) -> None:
        """Serve until the socket is closed."""
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            self._slots.acquire()
            threading.Thread(target=self._serve_one, args=(client,), daemon=True).start()

    def _serve_one(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            try:
                self._pass_on(client)
            except DeniedError as denial:
                sys.stderr.write(f"egress denied: {denial}\n")
                _answer(client, "403 Forbidden", f"nodusctl: {denial}\n")
            finally:
                self._slots.release()

    def _pass_on(self, client: socket.socket) -> None:
        client.settimeout(_HEAD_LIMIT_SECONDS)
        head, rest = _read_head(client)
        method, target, version = _request_line(head)
        host, port = _target(method, target)
        server = _connect(self._rules.addresses_of(host, port), port)
        if server is None:
            _answer(client, "502 Bad Gateway", f"nodusctl: {host}:{port} is allowed but does not answer\n")
            return
        with server:
            if method == "CONNECT":
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                server.sendall(rest)
            else:
                server.sendall(_as_sent_to_origin(head, method, target, version) + rest)
            client.settimeout(None)
            _join(client, server)


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    seen = b""
    while b"\r\n\r\n" not in seen:
        part = client.recv(_CHUNK_BYTES)
        if not part or len(seen) > _HEAD_LIMIT_BYTES:
            raise DeniedError("the request is not HTTP")
        seen += part
    head, _, rest = seen.partition(b"\r\n\r\n")
    return head, rest


def _request_line(head: bytes) -> tuple[str, str, str]:
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    if len(words) != 3:
        raise DeniedError("the request is not HTTP")
    return words[0], words[1], words[2]


def _target(method: str, target: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = parts.hostname or "", parts.port
    except ValueError as failure:
        raise DeniedError("the request names no host") from failure
    if not host or (method != "CONNECT" and parts.scheme != "http") or (method == "CONNECT" and port is None):
        raise DeniedError("the request names no host")
    return host, 80 if port is None else port


def _as_sent_to_origin(head: bytes, method: str, target: str, version: str) -> bytes:
    """A plain request as its server wants it. One a connection: a second could be meant for another host."""
    parts = urlsplit(target)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    dropped = (b"proxy-", b"connection:", b"host:")
    kept = [line for line in head.split(b"\r\n")[1:] if not line.lower().startswith(dropped)]
    lines = [f"{method} {path} {version}".encode("latin-1"), f"Host: {parts.netloc.rpartition('@')[2]}".encode("latin-1")]
    return b"\r\n".join([*lines, *kept, b"Connection: close", b"", b""])


def _connect(addresses: list[str], port: int) -> socket.socket | None:
    for address in addresses:
        with contextlib.suppress(OSError):
            server = socket.create_connection((address, port), timeout=_CONNECT_LIMIT_SECONDS)
            server.settimeout(None)
            return server
    return None


def _join(client: socket.socket, server: socket.socket) -> None:
    back = threading.Thread(target=_carry, args=(server, client), daemon=True)
    back.start()
    _carry(client, server)
    back.join()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(_CHUNK_BYTES):
            sink.sendall(part)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _answer(client: socket.socket, status: str, text: str) -> None:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    client.sendall(head.encode() + body)


def _plain(name: str) -> str:
    return name.strip().rstrip(".").lower()


def _is_number(name: str) -> bool:
    """True for every spelling of an address that a resolver would take: 10.0.0.1, 0x7f.1, 2130706433, ::1."""
    last = name.rpartition(".")[2]
    return ":" in name or last.isdigit() or last.startswith("0x") or not last


def main(arguments: list[str]) -> int:
    """Serve the socket that was handed down, under the given rules."""
    parser = argparse.ArgumentParser(prog="egress_proxy")
    parser.add_argument("--listen-descriptor", type=int, required=True)
    parser.add_argument("--allow", action="append", default=[], metavar="NAME|*.SUFFIX")
    parser.add_argument("--address", action="append", default=[], metavar="NAME=ADDRESS")
    given = parser.parse_args(arguments)
    addresses = dict(pair.split("=", 1) for pair in given.address)
    with socket.socket(fileno=given.listen_descriptor) as listener:
        Proxy(Rules(given.allow, addresses, resolve)).serve(listener)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
