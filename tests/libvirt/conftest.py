"""Tests with real virtual machines on this computer's libvirt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import libvirt_host
from support.libvirt_project import LibvirtProject


@pytest.fixture
def project(tmp_path: Path) -> Iterator[LibvirtProject]:
    """A written project; whatever it still has afterwards is ended."""
    if reason := libvirt_host.why_not():
        pytest.skip(reason)
    made = LibvirtProject(tmp_path).write()
    yield made
    made.clear()
