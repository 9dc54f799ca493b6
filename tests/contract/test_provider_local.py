"""The local provider passes the shipped conformance suite: real processes, the agent asked over ssh with the pinned key."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from nodus_providers.local import trees
from nodus_providers.local.provider import LocalProvider
from nodusctl.bootstrap.bundle import render_bundle
from nodusctl.ports.boot import BootPlan
from nodusctl.ports.reach import Access, KeyPair
from nodusctl.provider.agent import AgentAnswer, AgentRequest
from nodusctl.provider.contract import Provider
from nodusctl.provider.machines import Disk, Machine
from nodusctl.provider.replies import Reply
from nodusctl.remote.keys import OpenSshKeys
from nodusctl.remote.reach import SshReach
from nodusctl.remote.session import PersonLogin, pin_host, ssh_command
from nodusctl.testing.provider_conformance import ProviderConformance, a_context

pytestmark = [
    pytest.mark.local,
    pytest.mark.skipif(shutil.which("sshd", path="/usr/sbin:/sbin:/usr/bin") is None, reason="sshd is not installed"),
]
HOST_KEY, SERVICE_KEY, PERSON_KEY = (OpenSshKeys().new_key(name) for name in ("host", "service", "person"))


class TestLocal(ProviderConformance):
    """Edges are real seconds here, so the short one is short; a login and a question must fit in, also on a busy computer."""

    wall_limit_seconds = 120
    short_edge_seconds = 6
    short_idle_seconds = 8
    boot_slack_seconds = 20
    parallel_launches = 4

    isolation = "auto"

    def make_provider(self, tmp_path: Path) -> Provider:
        return LocalProvider.open(a_context(tmp_path), {"isolation": self.isolation})

    def make_boot(self, provider: Provider, name: str, edge_seconds: int, tmp_path: Path) -> str:
        plan = BootPlan(
            host_key=HOST_KEY.private,
            service_key=SERVICE_KEY.public,
            person_keys=(PERSON_KEY.public,),
            tools=("SSH",),
            edge_seconds=edge_seconds,
            idle_timeout_seconds=None,
        )
        return render_bundle(plan)

    def ask(self, provider: Provider, machine: Machine, request: AgentRequest) -> Reply[AgentAnswer]:
        return SshReach().ask(an_access(machine, HOST_KEY, SERVICE_KEY), request)

    def write_home(self, provider: Provider, machine: Machine, disk: Disk) -> None:
        assert isinstance(provider, LocalProvider)
        (provider.home_of(disk.id) / f"written-by-{machine.id}").write_text("hello")

    def use(self, provider: Provider, machine: Machine) -> None:
        """Somebody logs in and computes for a moment."""
        assert machine.ssh is not None
        key = self._tmp_path / "person"
        key.touch(mode=0o600)
        key.write_text(PERSON_KEY.private)
        pinned = pin_host(str(self._tmp_path / "known"), machine.id, HOST_KEY.public)
        login = PersonLogin(alias=machine.id, endpoint=machine.ssh, key_path=str(key), known_hosts=pinned)
        subprocess.run(ssh_command(login, ["timeout 3 sh -c 'while :; do :; done'"]), check=False, timeout=60)

    def break_next_save(self, provider: Provider, disk: Disk) -> None:
        """The file system fails once, at the second file."""
        assert isinstance(provider, LocalProvider)
        home = provider.home_of(disk.id)
        for number in range(3):
            (home / f"file-{number}").write_text("content")
        patch = pytest.MonkeyPatch()
        copy, count = trees._copy_file, iter(range(100))

        def copy_once(source: Path, target: Path) -> str:
            if next(count) == 1:
                patch.undo()
                raise OSError("no space left on device")
            return copy(source, target)

        patch.setattr(trees, "_copy_file", copy_once)


class TestLocalWithoutSandbox(TestLocal):
    """The same suite where machines have no sandbox, as on a computer that can't make one."""

    isolation = "off"


def an_access(machine: Machine, host_key: KeyPair, service_key: KeyPair) -> Access:
    """What is needed to log in as the service key."""
    return Access(
        provider="local",
        machine_id=machine.id,
        alias=machine.id,
        host_key=host_key.public,
        service_key=service_key.private,
        endpoint=machine.ssh,
    )
