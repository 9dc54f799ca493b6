"""A daemon that hangs costs each call its time limit and no more, wherever it hangs."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodus_providers.libvirt.connection import Connection, TimeLimitError

DOMAIN = "<domain type='test'><name>late</name><memory>65536</memory><os><type>hvm</type></os></domain>"

libvirt = pytest.importorskip("libvirt", reason="libvirt-python is not installed:  pip install 'nodusctl[libvirt]'")


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a daemon that takes every connection and says nothing, as one does that was stopped."""
    with tempfile.TemporaryDirectory(prefix="nodus-", dir="/tmp") as folder, socket.socket(socket.AF_UNIX) as door:
        door.bind(str(Path(folder) / "sock"))
        door.listen(8)
        yield f"qemu+unix:///system?socket={folder}/sock"


def ended(connection: Connection) -> list[str]:
    """What a look said that must end by itself; nothing where it hangs."""
    said: list[str] = []

    def look() -> None:
        with pytest.raises(TimeLimitError) as fault:
            connection.domains()
        said.append(str(fault.value))

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(60)
    return said


def test_a_daemon_that_never_answers_ends_each_call_in_time(silent: str) -> None:
    connection = Connection(silent, limit_seconds=0.3)
    for _ in range(2):
        assert ended(connection) == [f"{silent}: could not list domains within 0.3 s"]


def test_a_call_that_was_given_up_changes_nothing_later() -> None:
    way, opened = threading.Event(), threading.Semaphore(0)

    def begin() -> None:
        opened.release()
        way.wait(60)

    connection = Connection("test:///default", before_opening=begin)
    with pytest.raises(TimeLimitError, match=r"within 0\.3 s"):
        connection._within("define a domain", lambda lv, conn: conn.defineXML(DOMAIN), 0.3)
    way.set()
    names = {one.name for one in Connection("test:///default").domains()}
    assert connection.domains()
    assert opened.acquire(timeout=1) and opened.acquire(timeout=1), "a connection of its own, not the one that hung"
    assert "late" not in names | {one.name for one in connection.domains()}
