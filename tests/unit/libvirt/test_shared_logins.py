"""Scripts and libvirt share one ssh login to a host; it is gone with the process, and nothing depends on it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from nodus_providers.libvirt.hosts import Host, open_hosts
from nodus_providers.libvirt.logins import SharedLogin, socket_folder
from nodus_providers.libvirt.machines import door
from nodus_providers.libvirt.settings import LibvirtSettings
from nodus_providers.libvirt.shell import HostError
from nodusctl.provider.machines import JumpHost
from nodusctl.testing.conformance_hooks import a_context

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOuOwNqlQ2vB4Dx0lPXUkrS3O9IoG0ClGhBGVMgtYyaO"
WAITS = "echo nodus-ready; exec cat"


def an_ssh(tmp_path: Path, script: str) -> tuple[str, ...]:
    """A stand-in for ssh that writes down each of its runs."""
    program = tmp_path / "ssh"
    program.write_text(f"#!/bin/sh\necho $$ >>{tmp_path}/runs\n{script}\n")
    program.chmod(0o755)
    return (str(program),)


def runs(tmp_path: Path) -> list[int]:
    log = tmp_path / "runs"
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def is_alive(pid: int) -> bool:
    """False for no process, and for one that has ended and that nobody has reaped, as in a container without an init."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_one_login_serves_all_and_is_made_anew_once_it_has_ended(tmp_path: Path) -> None:
    login = SharedLogin(an_ssh(tmp_path, WAITS), ("host",), tmp_path / "socket")
    login.begin()
    login.begin()
    (first,) = runs(tmp_path)
    os.kill(first, 9)
    until = time.monotonic() + 10
    while len(runs(tmp_path)) == 1 and time.monotonic() < until:
        login.begin()
    assert len(runs(tmp_path)) == 2


def test_it_is_gone_with_its_process_even_when_that_is_killed(tmp_path: Path) -> None:
    words = an_ssh(tmp_path, WAITS)
    script = f"""
import os
from pathlib import Path
from nodus_providers.libvirt.logins import SharedLogin
SharedLogin({words!r}, ("host",), Path({str(tmp_path / "socket")!r})).begin()
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    (left,) = runs(tmp_path)
    until = time.monotonic() + 10
    while is_alive(left) and time.monotonic() < until:
        time.sleep(0.02)
    assert not is_alive(left)


def test_a_host_that_lets_nobody_in_is_an_error_with_its_words(tmp_path: Path) -> None:
    login = SharedLogin(an_ssh(tmp_path, "echo 'Permission denied (publickey).' >&2; exit 255"), ("host",), tmp_path / "socket")
    with pytest.raises(HostError, match="Permission denied"):
        login.begin()


def test_those_who_waited_for_an_attempt_that_failed_make_none_of_their_own(tmp_path: Path) -> None:
    fails = f"until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo 'Connection timed out' >&2; exit 255"
    login = SharedLogin(an_ssh(tmp_path, fails), ("host",), tmp_path / "socket")
    said: list[str] = []
    asking = threading.Semaphore(0)

    def ask() -> None:
        asking.release()
        with pytest.raises(HostError) as fault:
            login.begin()
        said.append(str(fault.value))

    together = [threading.Thread(target=ask) for _ in range(3)]
    for one in together:
        one.start()
    assert all(asking.acquire(timeout=30) for _ in together)
    time.sleep(1)
    (tmp_path / "go").touch()
    for one in together:
        one.join()
    assert said == ["Connection timed out"] * 3
    assert len(runs(tmp_path)) == 1
    ask()
    assert len(runs(tmp_path)) == 2, "who asks later tries anew"


def test_where_no_socket_can_be_made_each_connection_logs_in_for_itself(tmp_path: Path) -> None:
    login = SharedLogin(an_ssh(tmp_path, "echo 'unix_listener: cannot bind to path' >&2; exit 255"), ("host",), tmp_path / "socket")
    login.begin()
    login.begin()
    assert len(runs(tmp_path)) == 1, "it isn't tried again"


def test_sockets_lie_where_nobody_else_can_reach_them(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="nodus-", dir="/tmp") as base:  # pytest's own folders have long names
        given = {"XDG_RUNTIME_DIR": base}
        folder = socket_folder(given)
        assert folder is not None
        assert folder.stat().st_mode & 0o777 == 0o700
        folder.chmod(0o755)
        assert socket_folder(given) is None, "others could look into it"
        folder.rmdir()
        folder.symlink_to(tmp_path)
        assert socket_folder(given) is None, "it may lead anywhere"
        assert socket_folder({"XDG_RUNTIME_DIR": f"{base}/missing"}) is None
        (Path(base) / ("x" * 90)).mkdir()
        assert socket_folder({"XDG_RUNTIME_DIR": f"{base}/{'x' * 90}"}) is None, "a socket's address has little room"


def a_host(tmp_path: Path, **settings: Any) -> Host:
    remote = {"uri": "qemu+ssh://root@gpu1.example:2022/system", "hostKey": f"{KEY} root@gpu1", **settings}
    (host,) = open_hosts(a_context(tmp_path), LibvirtSettings.model_validate({"hosts": [remote]}).hosts)
    return host


def test_a_machine_on_a_remote_hosts_own_network_is_reached_through_that_host(tmp_path: Path) -> None:
    jump = a_host(tmp_path, identityFile="~/.ssh/lab").jump
    assert jump == JumpHost(host="gpu1.example", port=2022, user="root", host_key=KEY, identity="~/.ssh/lab")
    relative = a_host(tmp_path, identityFile="keys/lab").jump
    assert relative is not None
    assert Path(relative.identity).is_absolute()
    assert relative.identity.endswith("/keys/lab")


def test_a_machine_on_a_bridge_or_on_this_computer_is_reached_directly(tmp_path: Path) -> None:
    assert a_host(tmp_path, bridge="br0").jump is None
    assert a_host(tmp_path, uri="qemu:///system", hostKey=None).jump is None


def test_only_a_machine_on_a_network_of_this_computer_stays_here(tmp_path: Path) -> None:
    assert door(a_host(tmp_path, uri="qemu:///system", hostKey=None), "192.168.122.7").is_here
    assert not door(a_host(tmp_path, uri="qemu:///system", hostKey=None, bridge="br0"), "10.0.0.7").is_here
    assert not door(a_host(tmp_path), "192.168.122.7").is_here


def test_what_libvirt_starts_joins_the_login_of_its_parent(tmp_path: Path) -> None:
    host = a_host(tmp_path)
    text = (tmp_path / "user" / "libvirt" / "under-test" / host.zone / "ssh").read_text()
    assert "ControlMaster=no" in text
    assert "'$PPID" in text or "ControlPath=none" in text
    assert "StrictHostKeyChecking=yes" in text
    assert "StrictHostKeyChecking=yes" in host.shell.transport
