"""The libvirt provider passes the shipped conformance suite: real virtual machines under emulation, the agent asked over ssh."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support import libvirt_host

from nodus_providers.libvirt import revisions
from nodus_providers.libvirt.provider import LibvirtProvider
from nodus_providers.libvirt.shell import HostError, HostShell
from nodusctl.bootstrap.cloud_init import render_cloud_init
from nodusctl.ports.boot import BootPlan
from nodusctl.ports.reach import Access
from nodusctl.provider.agent import AgentAnswer, AgentCommand, AgentRequest
from nodusctl.provider.contract import Provider
from nodusctl.provider.machines import Disk, Machine
from nodusctl.provider.replies import Done, Reply
from nodusctl.remote.keys import OpenSshKeys
from nodusctl.remote.reach import SshReach
from nodusctl.remote.session import PersonLogin, pin_host, ssh_command
from nodusctl.testing.provider_conformance import ProviderConformance, a_context

pytestmark = [pytest.mark.slow, pytest.mark.libvirt]
HOST_KEY, SERVICE_KEY, PERSON_KEY = (OpenSshKeys().new_key(name) for name in ("host", "service", "person"))


class TestLibvirt(ProviderConformance):
    """Emulated machines boot in about eight seconds, and slower when several do at once."""

    wall_limit_seconds = 150
    short_edge_seconds = 25
    short_idle_seconds = 20
    boot_slack_seconds = 100
    parallel_launches = 3

    @pytest.fixture(autouse=True)
    def _on_a_host(self) -> None:
        """Asked when a test begins, because asking starts a daemon where there is none."""
        if reason := libvirt_host.why_not():
            pytest.skip(reason)

    def make_provider(self, tmp_path: Path) -> Provider:
        return LibvirtProvider.open(a_context(tmp_path), libvirt_host.settings(tmp_path / "host"))

    def make_boot(self, provider: Provider, name: str, edge_seconds: int, tmp_path: Path) -> str:
        plan = BootPlan(
            host_key=HOST_KEY.private,
            service_key=SERVICE_KEY.public,
            person_keys=(PERSON_KEY.public,),
            tools=("SSH",),
            edge_seconds=edge_seconds,
            idle_timeout_seconds=None,
        )
        return render_cloud_init(plan)

    def ask(self, provider: Provider, machine: Machine, request: AgentRequest) -> Reply[AgentAnswer]:
        access = Access(
            provider="libvirt",
            machine_id=machine.id,
            alias=machine.id,
            host_key=HOST_KEY.public,
            service_key=SERVICE_KEY.private,
            endpoint=machine.ssh,
        )
        return SshReach().ask(access, request)

    def write_home(self, provider: Provider, machine: Machine, disk: Disk) -> None:
        self._in(provider, machine, f"echo hello > written-by-{machine.id}; sync")

    def use(self, provider: Provider, machine: Machine) -> None:
        """Somebody logs in and computes for a moment."""
        self._in(provider, machine, "timeout 4 sh -c 'while :; do :; done'; true")

    def break_next_save(self, provider: Provider, disk: Disk) -> None:
        """The connection to the host breaks once, when the copy is made and not yet committed."""
        patch = pytest.MonkeyPatch()
        run = HostShell.run

        def run_once(self: HostShell, script: str, *arguments: str, **named: object) -> str:
            if script == revisions._COMMIT:
                patch.undo()
                raise HostError("the connection broke")
            return run(self, script, *arguments, **named)  # type: ignore[arg-type]

        patch.setattr(HostShell, "run", run_once)

    def _in(self, provider: Provider, machine: Machine, command: str) -> None:
        """Run a command as a person, once the door is open."""

        def is_open() -> bool | None:
            return True if isinstance(self.ask(provider, machine, AgentRequest(command=AgentCommand.READY)), Done) else None

        self.eventually(provider, is_open, f"the door of {machine.id} is open")
        assert machine.ssh is not None
        key = self._tmp_path / "person"
        key.touch(mode=0o600)
        key.write_text(PERSON_KEY.private)
        pinned = pin_host(str(self._tmp_path / "known"), machine.id, HOST_KEY.public)
        login = PersonLogin(alias=machine.id, endpoint=machine.ssh, key_path=str(key), known_hosts=pinned)
        ended = subprocess.run(ssh_command(login, [command]), check=False, timeout=60, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
