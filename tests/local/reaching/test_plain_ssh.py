"""A Workspace from a plain shell: ssh, scp and rsync through our entry, and what is refused there."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.local_project import SSHD_IS_HERE, LocalProject

from nodusctl.remote.keys import OpenSshKeys

pytestmark = [pytest.mark.local, pytest.mark.skipif(not SSHD_IS_HERE, reason="sshd is not installed")]
KEY = 'apiVersion: nodus.dev/v1\nkind: SSHKey\nmetadata: {{name: ana}}\nspec: {{publicKey: "{key}"}}\n'


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """A running Workspace with plain SSH, its entry installed."""
    project = LocalProject(tmp_path_factory.mktemp("shell")).write()
    try:
        project.done("apply", "--yes")
        project.done("ssh-config", "--install")
        yield project
    finally:
        project.clear()


def plain(shell: LocalProject, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """ssh or scp as typed in a shell; -F only because ssh goes by the account, and this account's own file is not ours to change."""
    return shell.shell([program, "-F", str(shell.ssh_folder / "config"), *words])


def test_ssh_by_the_name_of_the_workspace_works_from_any_folder(shell: LocalProject) -> None:
    for host in ("lab", "nodus-lab"):
        ended = plain(shell, "ssh", host, "echo hello; exit 7")
        assert (ended.stdout, ended.returncode) == ("hello\n", 7), ended.stderr


def test_scp_and_rsync_carry_files_both_ways(shell: LocalProject, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("content")
    assert plain(shell, "scp", str(tmp_path / "notes.txt"), "lab:by-scp").returncode == 0
    assert plain(shell, "scp", "lab:by-scp", str(tmp_path / "back")).returncode == 0
    assert (tmp_path / "back").read_text() == "content"
    if shutil.which("rsync") is None:
        pytest.skip("rsync is not installed")
    folder = tmp_path / "tree"
    for number in range(3):
        (folder / f"part-{number}").mkdir(parents=True)
        (folder / f"part-{number}" / "file").write_bytes(os.urandom(200_000))
    remote_shell = f"ssh -F {shell.ssh_folder / 'config'}"
    for source, target in ((f"{folder}/", "lab:tree/"), ("lab:tree/", f"{tmp_path / 'again'}/")):
        ended = shell.shell(["rsync", "-a", "-e", remote_shell, source, target])
        assert ended.returncode == 0, ended.stderr
    assert [p.read_bytes() for p in sorted(tmp_path.glob("again/*/file"))] == [p.read_bytes() for p in sorted(folder.glob("*/file"))]


def test_cp_copies_both_ways_and_says_which_side_is_which(shell: LocalProject) -> None:
    (shell.project / "a b.txt").write_text("content")
    shell.done("cp", "a b.txt", "lab:")
    shell.done("cp", "lab:a b.txt", "back.txt")
    assert (shell.project / "back.txt").read_text() == "content"
    for words in (("a b.txt", "back.txt"), ("lab:x", "lab:y"), ("lab:x",), ("back.txt", "lab:x", "lab:y")):
        assert shell.run("cp", *words).returncode == 64


def test_with_another_host_key_ssh_scp_and_nodusctl_refuse_and_say_why(shell: LocalProject) -> None:
    """The machine answers with a key that is not the pinned one: as after somebody took its place."""
    config, entries = shell.ssh_folder / "config", shell.ssh_folder / "config.d" / "nodusctl"
    pinned = next(line for line in entries.read_text().splitlines() if "UserKnownHostsFile" in line).split('"')[1]
    alias = Path(pinned).read_text().split()[0]
    wrong = shell.folder / "wrong_hosts"
    wrong.write_text(f"{alias} {OpenSshKeys().new_key('x').public}\n")
    changed = shell.folder / "changed"
    changed.write_text(entries.read_text().replace(pinned, str(wrong)))
    for words in (["ssh", "-F", str(changed), "lab", "true"], ["scp", "-F", str(changed), str(config), "lab:stolen"]):
        ended = shell.shell(words)
        assert ended.returncode == 255
        assert "Host key verification failed" in ended.stderr
        assert "has changed" in ended.stderr
    assert plain(shell, "ssh", "lab", "ls").stdout.count("stolen") == 0


def test_a_pin_that_was_changed_is_not_mended_in_passing(shell: LocalProject) -> None:
    """ssh, scp and rsync refuse, and so does nodusctl itself, until the pin says what the state says."""
    entries = (shell.ssh_folder / "config.d" / "nodusctl").read_text()
    pinned = Path(next(line for line in entries.splitlines() if "UserKnownHostsFile" in line).split('"')[1])
    was = pinned.read_text()
    pinned.write_text(f"{was.split()[0]} {OpenSshKeys().new_key('x').public}\n")
    try:
        assert plain(shell, "ssh", "lab", "true").returncode == 255
        assert shell.run("ssh", "lab", "--", "true").returncode == 255
    finally:
        pinned.write_text(was)
    assert plain(shell, "ssh", "lab", "true").returncode == 0


def test_installing_again_changes_nothing_and_the_users_own_lines_stay(shell: LocalProject) -> None:
    config = shell.ssh_folder / "config"
    own = "Host elsewhere\n  User me\n"
    config.write_text(own)
    shell.done("ssh-config", "--install")
    first = config.read_text()
    shell.done("ssh-config", "--install")
    assert config.read_text() == first
    assert first.endswith(own)
    assert first.count("Include") == 1
    assert "user me\n" in plain(shell, "ssh", "-G", "elsewhere").stdout


def test_removing_a_key_ends_the_sessions_it_opened_and_no_other(shell: LocalProject) -> None:
    key = OpenSshKeys().new_key("ana")
    identity = shell.folder / "ana"
    identity.touch(mode=0o600)
    identity.write_text(key.private)
    (shell.project / "ana.yaml").write_text(KEY.format(key=key.public))
    shell.done("apply", "--yes")
    entry = shell.folder / "ana-config"
    entries = (shell.ssh_folder / "config.d" / "nodusctl").read_text()
    entry.write_text("".join(line for line in entries.splitlines(keepends=True) if "IdentityFile" not in line))
    hers = shell.spawn(["ssh", "-F", str(entry), "-i", str(identity), "lab", "echo in; exec sleep 300"])
    mine = shell.spawn(["ssh", "-F", str(shell.ssh_folder / "config"), "lab", "echo in; exec sleep 300"])
    try:
        assert [one.stdout.readline() for one in (hers, mine) if one.stdout] == ["in\n", "in\n"]
        (shell.project / "ana.yaml").unlink()
        shell.done("apply", "--yes")
        assert hers.wait(30) == 255
        assert mine.poll() is None
        refused = shell.shell(["ssh", "-F", str(entry), "-i", str(identity), "lab", "true"])
        assert "Permission denied" in refused.stderr
    finally:
        for one in (hers, mine):
            one.kill()
            one.communicate()


def test_a_port_is_carried_until_the_command_ends_and_no_longer(shell: LocalProject) -> None:
    serve = (
        f"exec {sys.executable} -c \"import socket as s; l = s.create_server(('127.0.0.1', 0)); print(l.getsockname()[1], flush=True); "
        "c = l.accept()[0]; c = l.accept()[0]; c.sendall(b'from inside'); l.accept()\""
    )
    server = shell.start("ssh", "lab", "--", serve)
    assert server.stdout is not None
    port = int(server.stdout.readline())
    carrying = shell.start("port-forward", "lab", str(port))
    try:
        assert carrying.stdout is not None
        local = int(carrying.stdout.readline().rpartition(":")[2].strip("/\n"))
        with socket.create_connection(("127.0.0.1", local), timeout=30) as connection:
            assert connection.recv(64) == b"from inside"
        carrying.send_signal(signal.SIGTERM)
        assert carrying.wait(30) == 0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", local), timeout=2)
    finally:
        for one in (carrying, server):
            one.kill()
            one.communicate()


def test_ssh_to_a_workspace_its_owner_stopped_says_how_to_start_it(shell: LocalProject) -> None:
    """Runs last: the Workspace stays stopped."""
    shell.done("stop", "lab")
    for words in (("ssh", "lab", "--", "true"), ("ssh-proxy", "lab"), ("open", "lab", "--print")):
        ended = shell.run(*words)
        assert ended.returncode == 1
        assert "nodusctl start lab" in ended.stderr
    assert shell.status()["phase"] == "Stopped"


def test_ssh_while_it_starts_waits_and_then_logs_in(shell: LocalProject) -> None:
    """dstack#3603: attaching before the machine runs is waiting, not failure. Starts what the test before has stopped."""
    starting = shell.start("start", "lab")
    try:
        while shell.status()["phase"] == "Stopped" and starting.poll() is None:
            time.sleep(0.1)
        ended = shell.run("ssh", "lab", "--", "echo in")
        assert (ended.returncode, ended.stdout) == (0, "in\n"), ended.stderr
    finally:
        starting.communicate()
    assert shell.done("ssh", "lab", "--", "cat by-scp") == "content"
