"""A project on a libvirt daemon of its own that a test may kill, and commands that kill it at a chosen moment of theirs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from support.libvirt_project import LibvirtProject
from support.own_libvirt import OwnLibvirt

# A real command in which one method of the connection, when it is first called, meets somebody's end: the daemon's, or all QEMUs'. It runs
# where nothing but the test's own daemon and machines can be seen.
_BREAKING = """
import glob, os, threading
from nodus_providers.libvirt.connection import Connection
method, seen = Connection.{method}, []
def kill():
    for file in glob.glob({victims!r}):
        os.kill(int(open(file).read()), 9)
def breaking(*arguments, **named):
    if seen:
        return method(*arguments, **named)
    seen.append(True)
    if {when!r} == "before":
        kill()
    elif {when!r} == "during":
        threading.Timer(0.05, kill).start()
    answer = method(*arguments, **named)
    if {when!r} == "after":
        kill()
    return answer
Connection.{method} = breaking
from nodusctl.cli.main import main
main()
"""
DAEMON = "/run/libvirt/libvirtd-of-the-test.pid"
QEMU = "/run/libvirt/qemu/nodus-*.pid"


@dataclass(frozen=True, slots=True)
class FaultyProject(LibvirtProject):
    """The usual project, whose commands and domains are those of ``own``."""

    own: OwnLibvirt | None = None

    @property
    def host(self) -> OwnLibvirt:
        assert self.own is not None
        return self.own

    def shell(self, words: Sequence[str], limit_seconds: float = 60) -> subprocess.CompletedProcess[str]:
        return super(FaultyProject, self).shell(self.host.words(*words, folder=self.project), limit_seconds=limit_seconds)

    def domains(self) -> dict[str, str]:
        names = [name for name in self.host.virsh("list", "--all", "--name").split() if name]
        return {name: self.host.virsh("domstate", name) for name in names}

    def breaking(self, method: str, when: str, *words: str, victims: str = DAEMON) -> subprocess.CompletedProcess[str]:
        """A nodusctl command during which somebody is killed with -9: before, during or after its first call of ``method``."""
        code = _BREAKING.format(method=method, when=when, victims=victims)
        return self.shell([sys.executable, "-c", code, *words], limit_seconds=150)

    def write_note(self, text: str) -> None:
        """Leave a file in the home."""
        self.done("ssh", "lab", "--", f"echo {text} > note; sync")

    def note(self) -> str:
        """What the file says."""
        return self.done("ssh", "lab", "--", "cat note").strip()

    def the_one(self) -> str:
        """The name of the only domain there is; it runs, and so does one QEMU."""
        ((name, state),) = self.domains().items()
        assert (state, self.host.qemus()) == ("running", 1)
        return name

    def clear(self) -> None:
        """Everything ends with the daemon's namespaces."""
