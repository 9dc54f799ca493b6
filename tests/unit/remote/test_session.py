"""A person's ssh command line: strict, pinned, and faithful to what was typed."""

from __future__ import annotations

from pathlib import Path

from nodusctl.provider.machines import SshEndpoint
from nodusctl.remote.session import PersonLogin, pin_host, ssh_command

LOGIN = PersonLogin(alias="m-1", endpoint=SshEndpoint(host="127.0.0.1", port=2222, user="me"), key_path="/k", known_hosts="/kh")


def test_checking_is_always_strict_and_no_other_identity_is_offered() -> None:
    words = ssh_command(LOGIN)
    for option in ("StrictHostKeyChecking=yes", 'UserKnownHostsFile="/kh"', "IdentitiesOnly=yes", "IdentityAgent=none", "HostKeyAlias=m-1"):
        assert option in words
    assert words[:3] == ["ssh", "-F", "none"]
    assert words[-5:] == ["-p", "2222", "-l", "me", "127.0.0.1"]


def test_one_word_is_a_line_for_the_remote_shell_and_several_are_words() -> None:
    assert ssh_command(LOGIN, ["echo $HOME"])[-2:] == ["--", "echo $HOME"]
    assert ssh_command(LOGIN, ["echo", "a b"])[-2:] == ["--", "echo 'a b'"]


def test_a_pin_is_written_once_and_never_mended_in_passing(tmp_path: Path) -> None:
    for key in ("ssh-ed25519 AAAA old", "ssh-ed25519 BBBB new"):
        path = pin_host(str(tmp_path), "m-1", key)
    assert Path(path).read_text() == "m-1 ssh-ed25519 AAAA\n"
    assert [child.name for child in tmp_path.iterdir()] == ["m-1.known_hosts"]
