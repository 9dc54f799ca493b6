"""Reaching an agent: only proof is a refusal, everything else is unknown."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from nodusctl.ports.reach import Access
from nodusctl.provider.agent import AgentAnswer, AgentCommand, AgentRequest
from nodusctl.provider.contract import CanAnswerAgent
from nodusctl.provider.machines import SshEndpoint
from nodusctl.provider.replies import Done, Refused, Reply, Unknown
from nodusctl.remote.keys import OpenSshKeys
from nodusctl.remote.reach import RoutedReach, SshReach

READY = AgentRequest(command=AgentCommand.READY)
KEY = OpenSshKeys().new_key("service")


def an_access(endpoint: SshEndpoint | None) -> Access:
    return Access(provider="p", machine_id="m", alias="m", host_key=KEY.public, service_key=KEY.private, endpoint=endpoint)


def a_program(tmp_path: Path, script: str) -> str:
    """A stand-in for the ssh client, to say what real ones say."""
    path = tmp_path / "ssh"
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    return str(path)


def test_no_address_is_unknown() -> None:
    assert isinstance(SshReach().ask(an_access(None), READY), Unknown)


def test_a_refused_connection_is_unknown() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        reply = SshReach().ask(an_access(SshEndpoint(host="127.0.0.1", port=unused.getsockname()[1], user="x")), READY)
    assert isinstance(reply, Unknown)
    assert "refused" in reply.detail


def test_a_silent_port_is_unknown_in_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        reach = SshReach(connect_seconds=1, answer_seconds=1)
        assert isinstance(reach.ask(an_access(SshEndpoint(host="127.0.0.1", port=silent.getsockname()[1], user="x")), READY), Unknown)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo 'Host key verification failed.' >&2; exit 255", "HostKeyChanged"),
        ("echo 'me@host: Permission denied (publickey).' >&2; exit 255", "Unauthorized"),
        ("echo 'Connection timed out' >&2; exit 255", ""),
        ("echo 'Permission denied' >&2; exit 1", ""),
        ("echo hello", ""),
    ],
)
def test_what_ssh_says_becomes_a_reply(tmp_path: Path, script: str, expected: str) -> None:
    reply = SshReach(program=a_program(tmp_path, script)).ask(an_access(SshEndpoint(host="h", port=1, user="u")), READY)
    assert (reply.code if isinstance(reply, Refused) else "") == expected
    assert isinstance(reply, Refused if expected else Unknown)


def test_ssh_can_read_the_key_and_no_file_holds_it(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    script = f'for word; do case "$word" in IdentityFile=*) eval "cat ${{word#IdentityFile=}}" > {seen};; esac; done; echo "$@" >> {seen}'
    SshReach(program=a_program(tmp_path, script)).ask(an_access(SshEndpoint(host="h", port=1, user="u")), READY)
    private, _, words = seen.read_text().rpartition("-F none")
    assert private == KEY.private
    assert "/proc/" in words
    assert KEY.private.splitlines()[1] not in words


def test_a_missing_client_is_unknown() -> None:
    reply = SshReach(program="/no/such/ssh").ask(an_access(SshEndpoint(host="h", port=1, user="u")), READY)
    assert isinstance(reply, Unknown)


def test_a_platform_that_answers_itself_is_asked_itself() -> None:
    class Platform:
        def ask_agent(self, machine_id: str, request: AgentRequest) -> Reply[AgentAnswer]:
            return Done(AgentAnswer(version="1", boot_id=machine_id))

    platforms: dict[str, CanAnswerAgent] = {"p": Platform()}
    reach = RoutedReach(platforms.get, SshReach())
    assert reach.ask(an_access(None), READY) == Done(AgentAnswer(version="1", boot_id="m"))
    assert isinstance(RoutedReach({}.get, SshReach()).ask(an_access(None), READY), Unknown)


ECHO = """
echo x >> {logins}
while read line; do echo '{{"version": "1", "boot_id": "'$$'"}}'; {after}; done
"""


class Agent:
    """A stand-in for ssh and the agent behind it; ``after`` is what it does after an answer; it is waited for twice ``patience``."""

    def __init__(self, tmp_path: Path, after: str = ":", patience: int = 30) -> None:
        self.log = tmp_path / "logins"
        program = a_program(tmp_path, ECHO.format(logins=self.log, after=after))
        self.reach = SshReach(program=program, connect_seconds=patience, answer_seconds=patience)

    def ask(self, port: int = 1, request: AgentRequest = READY) -> Reply[AgentAnswer]:
        return self.reach.ask(an_access(SshEndpoint(host="h", port=port, user="u")), request)

    @property
    def logins(self) -> int:
        return len(self.log.read_text().splitlines())


def test_questions_to_one_machine_share_a_login(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    first, second = agent.ask(), agent.ask()
    assert isinstance(first, Done)
    assert first == second
    assert agent.logins == 1
    assert agent.ask(port=2) != first
    assert agent.logins == 2


def test_a_login_the_agent_has_ended_is_made_anew(tmp_path: Path) -> None:
    agent = Agent(tmp_path, after="exit 0")
    assert all(isinstance(agent.ask(), Done) for _ in range(3))
    assert agent.logins == 3


def test_a_question_that_an_ending_login_swallowed_is_asked_again(tmp_path: Path) -> None:
    agent = Agent(tmp_path, after="read line; exit 0")
    assert isinstance(agent.ask(), Done)
    assert isinstance(agent.ask(), Done)
    assert agent.logins == 2


def test_a_login_without_an_answer_in_time_is_not_used_again(tmp_path: Path) -> None:
    agent = Agent(tmp_path, after="sleep 30", patience=2)
    assert isinstance(agent.ask(), Done)
    assert agent.ask() == Unknown("the agent did not answer in time")
    assert isinstance(agent.ask(), Done)
    assert agent.logins == 2


def test_a_large_question_arrives_whole(tmp_path: Path) -> None:
    request = AgentRequest(command=AgentCommand.SECRETS, files={"run/secrets/s/key": "x" * 2**20})
    assert isinstance(Agent(tmp_path).ask(request=request), Done)


def test_only_a_login_to_this_computer_takes_the_quick_key_exchange(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    reach = SshReach(program=a_program(tmp_path, f'echo "$@" >> {seen}'))
    for is_here in (True, False):
        reach.ask(an_access(SshEndpoint(host="h", port=1, user="u", is_here=is_here)), READY)
    here, there = seen.read_text().splitlines()
    assert "KexAlgorithms=^curve25519-sha256" in here
    assert "KexAlgorithms" not in there
