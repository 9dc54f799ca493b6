"""A machine behind its host's own network: every login goes through the host, whose key is pinned too."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from nodusctl.ports.reach import Access
from nodusctl.provider.agent import AgentCommand, AgentRequest
from nodusctl.provider.machines import JumpHost, Machine, MachineState, SshEndpoint
from nodusctl.remote.copying import scp_command
from nodusctl.remote.forwarding import forward_command
from nodusctl.remote.jumping import carrying_command, jump_alias, jump_options
from nodusctl.remote.keys import OpenSshKeys
from nodusctl.remote.reach import SshReach
from nodusctl.remote.relay import carry_through, last_open
from nodusctl.remote.session import PersonLogin, pin_jump, ssh_command
from nodusctl.store.codec import decode, encode

KEY = OpenSshKeys().new_key("jump")
JUMP = JumpHost(host="gpu1.example", port=2022, user="root", host_key=KEY.public)
BEHIND = SshEndpoint(host="192.168.122.7", port=22, user="nodus", jump=JUMP)
LOGIN = PersonLogin(alias="nodus-u", endpoint=BEHIND, key_path="/k", known_hosts="/kh", jump_known_hosts="/with 100%/jump")
needs_ssh = pytest.mark.skipif(shutil.which("ssh") is None, reason="the ssh client is not installed")


def proxy_of(words: list[str]) -> str:
    """The ProxyCommand among ssh's options."""
    (found,) = (word.removeprefix("ProxyCommand=") for word in words if word.startswith("ProxyCommand="))
    return found


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(ssh_command(LOGIN, ["true"]), id="ssh"),
        pytest.param(scp_command(LOGIN, ["a"], "b", goes_up=True), id="scp"),
        pytest.param(forward_command(LOGIN, 8888, 8888), id="forward"),
    ],
)
def test_every_login_goes_through_the_host_and_checks_its_key(words: list[str]) -> None:
    proxy = proxy_of(words)
    for part in ("StrictHostKeyChecking=yes", f"HostKeyAlias={jump_alias(JUMP)}", "-l root", "-p 2022", "-W '[%h]:%p'", "gpu1.example"):
        assert part in proxy
    assert "accept-new" not in proxy
    direct = replace(LOGIN, endpoint=replace(BEHIND, jump=None), jump_known_hosts="")
    assert not any(word.startswith("ProxyCommand") for word in ssh_command(direct))


@needs_ssh
def test_ssh_reads_the_way_as_it_was_meant() -> None:
    read = subprocess.run([*ssh_command(LOGIN)[:1], "-G", *ssh_command(LOGIN)[1:]], capture_output=True, text=True, check=True).stdout
    (line,) = (line for line in read.splitlines() if line.startswith("proxycommand "))
    # What ssh itself puts in comes last; what is left is the inner ssh's command line.
    inner = line.removeprefix("proxycommand ").replace("%%", "%").replace("%h", "192.168.122.7").replace("%p", "22")
    asked = subprocess.run(inner.replace("ssh ", "ssh -G ", 1), shell=True, capture_output=True, text=True, check=True).stdout.splitlines()
    for wanted in ("hostname gpu1.example", "port 2022", "user root", "stricthostkeychecking true", f"hostkeyalias {jump_alias(JUMP)}"):
        assert wanted in asked
    assert any(line.startswith("userknownhostsfile") and "/with 100%" in line for line in asked)


def test_a_key_is_offered_where_it_is_and_else_what_ssh_has_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with_key = replace(JUMP, identity="~/lab-key")
    assert "IdentityFile" not in proxy_of(jump_options(with_key, "/kh"))
    (tmp_path / "lab-key").touch()
    assert f'IdentityFile="{tmp_path}/lab-key"' in proxy_of(jump_options(with_key, "/kh"))
    assert "IdentitiesOnly=yes" in proxy_of(jump_options(with_key, "/kh"))


def test_another_key_of_a_host_is_another_pin(tmp_path: Path) -> None:
    first = pin_jump(str(tmp_path), BEHIND)
    assert Path(first).read_text() == f"{jump_alias(JUMP)} {' '.join(KEY.public.split()[:2])}\n"
    changed = replace(BEHIND, jump=replace(JUMP, host_key=OpenSshKeys().new_key("other").public))
    assert pin_jump(str(tmp_path), changed) != first
    assert pin_jump(str(tmp_path), replace(BEHIND, jump=None)) == ""


def test_the_agent_is_asked_through_the_host_with_both_keys_in_one_file(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    program = tmp_path / "ssh"
    script = (
        f'for word; do case "$word" in UserKnownHostsFile=*) eval "cat ${{word#*=}}";; ProxyCommand=*) echo "$word";; esac; done >{seen}'
    )
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    host = OpenSshKeys().new_key("machine")
    access = Access(provider="p", machine_id="m", alias="nodus-u", host_key=host.public, service_key=host.private, endpoint=BEHIND)
    SshReach(program=str(program)).ask(access, AgentRequest(command=AgentCommand.READY))
    said = seen.read_text()
    assert f"nodus-u {' '.join(host.public.split()[:2])}\n" in said
    assert f"{jump_alias(JUMP)} {' '.join(KEY.public.split()[:2])}\n" in said
    assert "-W '[%h]:%p' -- gpu1.example" in said


def test_a_machine_on_the_loopback_of_its_host_is_not_on_ours(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    program = tmp_path / "ssh"
    program.write_text(f'#!/bin/sh\necho "$@" >{seen}\n')
    program.chmod(0o755)
    endpoint = replace(BEHIND, host="127.0.0.1")
    assert not endpoint.is_here
    access = Access(provider="p", machine_id="m", alias="a", host_key=KEY.public, service_key=KEY.private, endpoint=endpoint)
    SshReach(program=str(program)).ask(access, AgentRequest(command=AgentCommand.READY))
    assert "KexAlgorithms" not in seen.read_text()


def test_a_stored_machine_of_before_is_read_and_a_jump_comes_back_whole() -> None:
    machine = Machine(id="m", state=MachineState.RUNNING, ssh=BEHIND)
    assert decode(Machine, encode(machine)) == machine
    old = encode(replace(machine, ssh=replace(BEHIND, jump=None))).replace(',"jump":null,"is_here":false', "")
    assert "jump" not in old and "is_here" not in old
    found = decode(Machine, old)
    assert found.ssh == SshEndpoint(host="192.168.122.7", port=22, user="nodus")


def test_the_relay_carries_over_a_programs_stdio(tmp_path: Path) -> None:
    with an_echo() as port:
        script = f"import os,socket,threading\ns=socket.create_connection(('127.0.0.1',{port}))\n{CARRY}"
        reading, writing = os.pipe()
        os.write(writing, b"hello")
        os.close(writing)
        with (tmp_path / "out").open("wb") as sink:
            carry_through([sys.executable, "-c", script], tmp_path / "trace" / "lab", reading, sink.fileno())
        os.close(reading)
    assert (tmp_path / "out").read_bytes() == b"hello"
    assert last_open(tmp_path / "trace" / "lab") is not None


def test_a_program_that_makes_no_connection_is_an_error_and_leaves_no_trace(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with pytest.raises(OSError, match="reached through"):
        carry_through(["false"], tmp_path / "trace" / "lab", reading, writing)
    assert last_open(tmp_path / "trace" / "lab") is None
    os.close(reading)
    os.close(writing)


def test_what_is_run_to_carry_names_the_machine_as_its_host_sees_it() -> None:
    words = carrying_command(BEHIND, "/kh")
    assert words[-4:] == ["-W", "[192.168.122.7]:22", "--", "gpu1.example"]


CARRY = """
def up():
    while part := os.read(0, 65536):
        s.sendall(part)
    s.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while part := s.recv(65536):
    os.write(1, part)
"""


@contextmanager
def an_echo() -> Iterator[int]:
    """A port that says back what it is told."""

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            while part := connection.recv(65536):
                connection.sendall(part)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        yield int(listener.getsockname()[1])
        server.join()
