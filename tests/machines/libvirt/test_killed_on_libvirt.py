"""The command killed with -9 around define and start of a real domain: the next apply goes on with the same one, by its UUID."""

from __future__ import annotations

import sys

import pytest
from support.libvirt_host import virsh
from support.libvirt_project import LibvirtProject

pytestmark = [pytest.mark.slow, pytest.mark.libvirt]
# A real command in which one method, the first time it is about to be called or has returned, kills the process.
DYING = """
import os, sys
from nodus_providers.libvirt.connection import Connection
method = Connection.{method}
def dying(*arguments, **named):
    if {after}:
        method(*arguments, **named)
    os.kill(os.getpid(), 9)
Connection.{method} = dying
from nodusctl.cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("method", "after", "left"),
    [
        pytest.param("define", False, [], id="before the definition"),
        pytest.param("start", False, ["shut off"], id="between define and start"),
        pytest.param("start", True, ["running"], id="after the start"),
    ],
)
def test_a_killed_apply_is_gone_on_with_by_uuid(project: LibvirtProject, method: str, after: bool, left: list[str]) -> None:
    words = [sys.executable, "-c", DYING.format(method=method, after=after), "apply", "--yes", "--local-state"]
    assert project.shell(words, limit_seconds=120).returncode == -9
    assert list(project.domains().values()) == left
    uuids = [virsh("domuuid", name) for name in project.domains()]
    project.apply()
    (name,) = project.domains()
    assert virsh("domstate", name) == "running"
    assert not uuids or [virsh("domuuid", name)] == uuids, "adopted, not made anew"
    assert len(project.files("machines/*")) == len(project.files("machines/*/root.qcow2")) == 1
    assert "No changes" in project.done("plan")
    assert project.done("ssh", "lab", "--", "echo in").strip() == "in"
