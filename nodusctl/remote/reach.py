"""Asking the agent over SSH as the state's service key, or letting the platform answer for it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nodusctl.ports.reach import Access, Reach
from nodusctl.provider.agent import AgentAnswer, AgentCommand, AgentRequest
from nodusctl.provider.contract import CanAnswerAgent
from nodusctl.provider.machines import SshEndpoint
from nodusctl.provider.replies import Refused, Reply, Unknown
from nodusctl.remote.options import pinned_options
from nodusctl.remote.session import known_hosts_line
from nodusctl.remote.wire import reply_from, request_text

_SSH_FAILED = 255
_DEFAULT_GRACE_SECONDS = 30
_KILL_MARGIN_SECONDS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class SshReach:
    """A ``Reach`` over plain OpenSSH. Limits are this computer's seconds; ``program`` is the ssh client."""

    connect_seconds: int = 10
    answer_seconds: int = 30
    program: str = "ssh"

    def ask(self, access: Access, request: AgentRequest) -> Reply[AgentAnswer]:
        if access.endpoint is None:
            return Unknown("the machine has no address yet")
        try:
            with _held(access.service_key) as identity, _held(known_hosts_line(access.alias, access.host_key)) as known_hosts:
                ended = subprocess.run(
                    self._command(access.alias, access.endpoint, identity, known_hosts),
                    input=request_text(request),
                    capture_output=True,
                    text=True,
                    timeout=self._limit_seconds(request),
                    check=False,
                )
        except subprocess.TimeoutExpired:
            return Unknown("the agent did not answer in time")
        except OSError as fault:
            return Unknown(f"{self.program} could not be run: {fault.strerror}")
        return reply_from(ended.stdout) if ended.returncode == 0 else _failure(ended.returncode, ended.stderr)

    def _command(self, alias: str, endpoint: SshEndpoint, identity: str, known_hosts: str) -> list[str]:
        return [
            self.program,
            *pinned_options(alias, known_hosts, identity),
            *("-o", "BatchMode=yes", "-o", f"ConnectTimeout={self.connect_seconds}", "-T", "-a", "-x"),
            *("-p", str(endpoint.port), "-l", endpoint.user, endpoint.host),
        ]

    def _limit_seconds(self, request: AgentRequest) -> float:
        limit = self.connect_seconds + self.answer_seconds
        if request.command is AgentCommand.QUIESCE:
            limit += _KILL_MARGIN_SECONDS + (_DEFAULT_GRACE_SECONDS if request.grace_seconds is None else request.grace_seconds)
        return limit


@dataclass(frozen=True, slots=True)
class RoutedReach:
    """A ``Reach`` that lets a platform answer itself where it can. ``answers_itself`` gets the provider's instance name."""

    answers_itself: Callable[[str], CanAnswerAgent | None]
    otherwise: Reach

    def ask(self, access: Access, request: AgentRequest) -> Reply[AgentAnswer]:
        platform = self.answers_itself(access.provider)
        return self.otherwise.ask(access, request) if platform is None else platform.ask_agent(access.machine_id, request)


def _failure(status: int, said: str) -> Reply[AgentAnswer]:
    """What ssh's own words mean. Only two of them are proof of anything; the rest is Unknown."""
    last = said.strip().splitlines()[-1] if said.strip() else f"exit status {status}"
    if status != _SSH_FAILED:
        return Unknown(f"the agent's command failed: {last}")
    if "Host key verification failed" in said:
        return Refused("HostKeyChanged", message="the machine answers with another host key than the pinned one")
    if "Permission denied" in said:
        return Refused("Unauthorized", message="the machine doesn't accept the service key")
    return Unknown(last)


@contextmanager
def _held(text: str) -> Iterator[str]:
    """A path under which ssh can read ``text`` once: in memory where the system can, so that a killed process leaves no key behind."""
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryDirectory(prefix="nodusctl-") as folder:
            path = Path(folder) / "held"
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
            yield str(path)
        return
    handle = os.memfd_create("nodusctl")
    try:
        os.fchmod(handle, 0o600)
        os.write(handle, text.encode())
        yield f"/proc/{os.getpid()}/fd/{handle}"
    finally:
        os.close(handle)
