"""What the egress proxy lets out: names, suffixes, addresses; and that it connects where it has looked."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from threading import Thread

import pytest

from nodus_providers.local.egress import PRESETS, allowed_names, unknown_presets
from nodus_providers.local.egress_proxy import DeniedError, Proxy, Rules, is_public
from nodusctl.provider.requests import Egress
from nodusctl.resources.fragments import EGRESS_PRESETS

PUBLIC = "93.184.215.14"


def rules(*allow: str, found: list[str] | None = None, addresses: dict[str, str] | None = None) -> Rules:
    return Rules(allow, addresses or {}, lambda host, port: found if found is not None else [PUBLIC])


@pytest.mark.parametrize(
    ("pattern", "host", "is_let_out"),
    [
        ("pypi.org", "pypi.org", True),
        ("pypi.org", "PyPI.org.", True),
        ("pypi.org", "files.pypi.org", False),
        ("pypi.org", "notpypi.org", False),
        ("*.hf.co", "cdn.hf.co", True),
        ("*.hf.co", "a.b.hf.co", True),
        ("*.hf.co", "hf.co", False),
        ("*.hf.co", "nothf.co", False),
        ("*.hf.co", "hf.co.evil.test", False),
    ],
)
def test_a_name_matches_itself_and_a_suffix_what_is_below_it(pattern: str, host: str, is_let_out: bool) -> None:
    if is_let_out:
        assert rules(pattern).addresses_of(host, 443) == [PUBLIC]
    else:
        with pytest.raises(DeniedError, match="not in network"):
            rules(pattern).addresses_of(host, 443)


@pytest.mark.parametrize("host", ["93.184.215.14", "2130706433", "0x7f.1", "127.1", "::1", "[::1]", "fe80::1%eth0", "10.0.0.1.", "."])
def test_no_spelling_of_an_address_is_let_out_even_where_a_pattern_would_match_it(host: str) -> None:
    with pytest.raises(DeniedError, match="address"):
        rules(host, f"*{host}", "*.0.0.1").addresses_of(host, 443)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255"),
        *("::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::169.254.169.254", "2002:a00:1::1"),
    ],
)
def test_a_name_that_leads_to_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert not is_public(address)
    with pytest.raises(DeniedError, match="no public address"):
        rules("trap.test", found=[address]).addresses_of("trap.test", 443)


def test_of_several_addresses_only_public_ones_are_used() -> None:
    assert rules("mixed.test", found=["10.0.0.1", PUBLIC]).addresses_of("mixed.test", 443) == [PUBLIC]


def test_an_address_given_by_a_setting_is_taken_for_a_listed_name_only() -> None:
    given = rules("mirror.test", addresses={"mirror.test": "10.0.0.5", "other.test": "10.0.0.6"})
    assert given.addresses_of("mirror.test", 443) == ["10.0.0.5"]
    with pytest.raises(DeniedError):
        given.addresses_of("other.test", 443)


Ask = Callable[[bytes], bytes]


@pytest.fixture
def upstream() -> Iterator[socket.socket]:
    """A server that says back what it was sent first."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(b"seen: " + connection.recv(65536))

    Thread(target=serve, daemon=True).start()
    yield listener
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


@pytest.fixture
def asked(upstream: socket.socket) -> Iterator[Ask]:
    """Send bytes to a proxy that lets ``mirror.test`` out to ``upstream``, and get all that comes back."""
    listener = socket.create_server(("127.0.0.1", 0))
    proxy = Proxy(rules("mirror.test", addresses={"mirror.test": "127.0.0.1"}, found=["127.0.0.1"]))
    Thread(target=proxy.serve, args=(listener,), daemon=True).start()

    def ask(text: bytes) -> bytes:
        port = str(upstream.getsockname()[1]).encode()
        with socket.create_connection(listener.getsockname(), timeout=5) as client:
            client.sendall(text.replace(b"PORT", port))
            client.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: client.recv(65536), b""))

    yield ask
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_a_tunnel_to_an_allowed_name_carries_bytes_as_they_are(asked: Ask) -> None:
    assert asked(b"CONNECT mirror.test:PORT HTTP/1.1\r\nHost: x\r\n\r\n\x16\x03hello").endswith(b"\r\n\r\nseen: \x16\x03hello")


def test_a_tunnel_to_any_other_name_is_refused_with_the_reason(asked: Ask) -> None:
    answer = asked(b"CONNECT elsewhere.test:443 HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"elsewhere.test is not in network.egress.allow" in answer


def test_a_plain_request_goes_to_the_host_of_its_address_whatever_its_host_header_says(asked: Ask) -> None:
    answer = asked(b"GET http://mirror.test:PORT/a?b=1 HTTP/1.1\r\nHost: elsewhere.test\r\nProxy-Authorization: x\r\nAccept: */*\r\n\r\n")
    head = answer.removeprefix(b"seen: ").split(b"\r\n")
    assert head[0] == b"GET /a?b=1 HTTP/1.1"
    assert head[1].startswith(b"Host: mirror.test:")
    assert head[2:] == [b"Accept: */*", b"Connection: close", b"", b""]


@pytest.mark.parametrize(
    "text", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"CONNECT mirror.test HTTP/1.1\r\n\r\n", b"SSH-2.0-x\r\n", b""]
)
def test_what_is_no_request_to_a_host_is_refused(asked: Ask, text: bytes) -> None:
    assert asked(text).startswith(b"HTTP/1.1 403 ")


def test_an_allowed_host_that_does_not_answer_is_told_apart_from_a_denied_one(asked: Ask) -> None:
    assert asked(b"CONNECT mirror.test:1 HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 502 ")


def test_presets_are_spelled_out_once_and_unknown_ones_are_named() -> None:
    egress = Egress(policy="AllowList", allow=("pypi.org", "mine.test"), presets=("python-packages", "nonsense"))
    assert unknown_presets(egress) == ("nonsense",)
    assert tuple(PRESETS) == EGRESS_PRESETS, "what a spec may name has its hosts here"
    known = Egress(policy="AllowList", allow=("pypi.org", "mine.test"), presets=("python-packages",))
    assert allowed_names(known) == ("pypi.org", "mine.test", *PRESETS["python-packages"][1:])
