"""Asking the agent over SSH as the state's service key, or letting the platform answer for it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nodusctl.ports.reach import Access, Reach
from nodusctl.provider.agent import AgentAnswer, AgentCommand, AgentRequest
from nodusctl.provider.contract import CanAnswerAgent
from nodusctl.provider.machines import SshEndpoint
from nodusctl.provider.replies import Refused, Reply, Unknown
from nodusctl.remote.jumping import jump_alias, jump_options
from nodusctl.remote.options import pinned_options
from nodusctl.remote.session import known_hosts_line
from nodusctl.remote.talks import Talk, Talks
from nodusctl.remote.wire import reply_from, request_text

_SSH_FAILED = 255
_DEFAULT_GRACE_SECONDS = 30
_KILL_MARGIN_SECONDS = 15
_QUICK_EXCHANGE = "^curve25519-sha256,curve25519-sha256@libssh.org"
"""First what takes a millisecond instead of a tenth of a second; the defaults stay behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SshReach:
    """A ``Reach`` over plain OpenSSH. Limits are this computer's seconds; ``program`` is the ssh client; ``talks`` are its open logins."""

    connect_seconds: int = 10
    answer_seconds: int = 30
    program: str = "ssh"
    talks: Talks = field(default_factory=Talks)

    def ask(self, access: Access, request: AgentRequest) -> Reply[AgentAnswer]:
        if access.endpoint is None:
            return Unknown("the machine has no address yet")
        line, limit_seconds = request_text(request), self._limit_seconds(request)
        try:
            open_talk = self.talks.take(access)
            # Whatever can be asked states an aim, so a question that an ended login swallowed is asked again.
            answer = self._asked(access, open_talk, line, limit_seconds) if open_talk is not None else None
            if answer is not None and not isinstance(answer, Unknown):
                return answer
            return self._asked_anew(access, access.endpoint, line, limit_seconds)
        except TimeoutError:
            return Unknown("the agent did not answer in time")
        except OSError as fault:
            return Unknown(f"{self.program} could not be run: {fault.strerror}")

    def _asked_anew(self, access: Access, endpoint: SshEndpoint, line: str, limit_seconds: float) -> Reply[AgentAnswer]:
        pins = known_hosts_line(access.alias, access.host_key)
        if endpoint.jump is not None:
            pins += known_hosts_line(jump_alias(endpoint.jump), endpoint.jump.host_key)
        with _held(access.service_key) as identity, _held(pins) as known_hosts:
            talk = Talk(self._command(access.alias, endpoint, identity, known_hosts))
            return self._asked(access, talk, line, limit_seconds)

    def _asked(self, access: Access, talk: Talk, line: str, limit_seconds: float) -> Reply[AgentAnswer]:
        try:
            said = talk.ask(line, limit_seconds)
        except BaseException:
            talk.end()
            raise
        if talk.has_answered:
            self.talks.give(access, talk)
            return reply_from(said)
        status, errors = talk.end()
        return _failure(status, errors)

    def _command(self, alias: str, endpoint: SshEndpoint, identity: str, known_hosts: str) -> list[str]:
        # Nothing of a login to this computer can be recorded, to be read by the computers of a later time.
        quick = ("-o", f"KexAlgorithms={_QUICK_EXCHANGE}") if endpoint.is_here else ()
        return [
            self.program,
            *pinned_options(alias, known_hosts, identity),
            *jump_options(endpoint.jump, known_hosts),
            *("-o", "BatchMode=yes", "-o", f"ConnectTimeout={self.connect_seconds}", "-T", "-a", "-x", *quick),
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
