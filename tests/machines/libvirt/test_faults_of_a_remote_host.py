"""A host behind ssh whose sshd ends or hangs: its machines are neither gone nor replaced, and every command ends in time."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.faulty_project import FaultyProject
from support.own_libvirt import OwnLibvirt

pytestmark = [pytest.mark.slow, pytest.mark.libvirt]
PORT = 2222
SSHD = f"""Port {PORT}
ListenAddress 127.0.0.1
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
AllowTcpForwarding yes
"""
LIMIT_SECONDS = 120
"""Each attempt to connect has ten seconds; nothing may wait without end."""


@dataclass
class Door:
    """An sshd of the test's own, in the namespaces of its daemon, where no other can be seen."""

    own: OwnLibvirt
    folder: Path

    def open(self) -> Door:
        self.folder.mkdir()
        for name in ("host", "person"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name], check=True)
        (self.folder / "config").write_text(
            f"{SSHD}HostKey {self.folder / 'host'}\nAuthorizedKeysFile {self.folder / 'person.pub'}\nPidFile {self.folder / 'pid'}\n"
        )
        self.start()
        return self

    def start(self) -> None:
        self.own.run("mkdir", "-p", "/run/sshd")
        begun = self.own.run("/usr/sbin/sshd", "-f", str(self.folder / "config"), "-E", str(self.folder / "log"))
        assert begun.returncode == 0, begun.stderr
        self.own.eventually((self.folder / "pid").exists, "sshd listens")

    def stop(self) -> None:
        """End it and everybody who came in."""
        self.signal("-KILL")
        (self.folder / "pid").unlink()

    def signal(self, name: str) -> None:
        """Send a signal to it and to all its sessions; there is no other sshd where they run."""
        self.own.run("kill", name, *self.own.run("pgrep", "-x", "sshd").stdout.split())


@pytest.fixture
def door(own: OwnLibvirt, tmp_path: Path) -> Iterator[Door]:
    if not Path("/usr/sbin/sshd").exists():
        pytest.skip("sshd is not installed: apt-get install openssh-server")
    yield Door(own, tmp_path / "door").open()


@pytest.fixture
def project(faulty: FaultyProject, door: Door) -> FaultyProject:
    """The same host, reached over ssh."""
    path = faulty.project / "nodusctl.yaml"
    settings = json.loads(path.read_text())
    (host,) = settings["providers"]["metal"]["hosts"]
    host["uri"] = f"qemu+ssh://root@127.0.0.1:{PORT}/system"
    host["hostKey"] = (door.folder / "host.pub").read_text().strip()
    host["identityFile"] = str(door.folder / "person")
    path.write_text(json.dumps(settings))
    return faulty


def test_machines_of_a_host_that_can_not_be_reached_are_kept_and_found_again(project: FaultyProject, door: Door) -> None:
    project.apply()
    project.write_note("kept")
    name = project.the_one()
    uuid = project.host.virsh("domuuid", name)
    for fall, rise in ((door.stop, door.start), (lambda: door.signal("-STOP"), lambda: door.signal("-CONT"))):
        fall()
        planned = project.run("plan", limit_seconds=LIMIT_SECONDS)
        assert (planned.returncode, "blocked[ProviderNotReady] workspace/lab" in planned.stdout) == (10, True), planned.stdout
        passed = project.run("tick", limit_seconds=LIMIT_SECONDS)
        assert passed.returncode == 1
        assert "error[ProviderNotReady]" in passed.stderr and "fix: " in passed.stderr, passed.stderr
        seen = project.run("drift", limit_seconds=LIMIT_SECONDS)
        assert (seen.returncode, "MachineGone" in seen.stdout) == (1, False), "a host that is silent has lost nothing"
        assert project.status()["phase"] == "Running"
        rise()
        assert (project.the_one(), project.host.virsh("domuuid", name)) == (name, uuid)
        project.done("tick")
        assert "No changes" in project.done("plan")
        assert project.note() == "kept"
    project.done("stop", "lab")
    assert (project.domains(), project.files("machines/*")) == ({}, [])


def test_a_stop_whose_host_can_not_be_reached_goes_on_once_it_can(project: FaultyProject, door: Door) -> None:
    project.apply()
    project.write_note("kept")
    door.stop()
    cut = project.run("stop", "lab", limit_seconds=LIMIT_SECONDS)
    assert cut.returncode == 14, cut.stdout + cut.stderr
    assert "fix: " in cut.stderr and project.status()["phase"] == "Stopping", cut.stderr
    assert project.host.qemus() == 1
    door.start()
    project.done("stop", "lab")
    assert project.status()["phase"] == "Stopped"
    assert (project.domains(), project.host.qemus(), project.files("machines/*")) == ({}, 0, [])
    assert [path.rpartition("/")[2] for path in project.files("disks/*/revisions/*.qcow2")] == ["1.qcow2"]
