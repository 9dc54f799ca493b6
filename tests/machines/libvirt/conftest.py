"""Tests with real virtual machines on this computer's libvirt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import libvirt_host
from support.faulty_project import FaultyProject
from support.libvirt_project import LibvirtProject
from support.own_libvirt import OwnLibvirt
from support.own_libvirt import why_not as why_no_namespaces


@pytest.fixture
def project(tmp_path: Path) -> Iterator[LibvirtProject]:
    """A written project; whatever it still has afterwards is ended."""
    if reason := libvirt_host.why_not():
        pytest.skip(reason)
    made = LibvirtProject(tmp_path).write()
    yield made
    made.clear()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[OwnLibvirt]:
    """A daemon of the test's own, in namespaces; all that runs there ends with the test."""
    if reason := libvirt_host.why_not() or why_no_namespaces():
        pytest.skip(reason)
    made = OwnLibvirt(tmp_path / "daemon")
    try:
        yield made.open()
    finally:
        made.close()


@pytest.fixture
def faulty(own: OwnLibvirt, tmp_path: Path) -> FaultyProject:
    """The same project on that daemon, whose machines and daemon a test may kill."""
    return FaultyProject(tmp_path / "there", own=own).write()  # type: ignore[return-value]
