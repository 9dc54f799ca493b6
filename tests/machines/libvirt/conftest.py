"""Tests with real virtual machines on this computer's libvirt."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pluggy
import pytest
from support import libvirt_host
from support.emulated_gpu_host import GpuHost
from support.faulty_project import FaultyProject
from support.libvirt_project import LibvirtProject
from support.own_libvirt import OwnLibvirt
from support.own_libvirt import why_not as why_no_namespaces


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pluggy.Result[pytest.TestReport], None]:
    """A test on the emulated GPU host fails only where that host is well: what its crash did is nothing the code under test did."""
    report = (yield).get_result()
    host = item.funcargs.get("host") if isinstance(item, pytest.Function) else None
    if report.failed and isinstance(host, GpuHost) and (reason := host.ill()):
        path, line, _ = item.location
        report.outcome, report.longrepr = "skipped", (path, line or 0, f"Skipped: {reason}")


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
