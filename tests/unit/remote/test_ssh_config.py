"""Entries in the user's ssh configuration: ours are rewritten, the user's own are not."""

from __future__ import annotations

import shutil
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from nodusctl.remote.ssh_config import HostEntry, entry_text, first_with, has_entry, install, pinned_alias, section_text

ENTRY = HostEntry(
    name="lab",
    alias="nodus-uid",
    user="me",
    known_hosts="/data/with space/100%/known",
    identity="/data/id",
    proxy=("/opt/my env/nodusctl", "--chdir", "/pro ject", "ssh-proxy"),
)
needs_ssh = pytest.mark.skipif(shutil.which("ssh") is None, reason="the ssh client is not installed")


@needs_ssh
def test_ssh_reads_an_entry_as_it_was_meant(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(entry_text(ENTRY))
    read = subprocess.run(["ssh", "-G", "-F", str(config), "nodus-lab"], capture_output=True, text=True, check=True).stdout.splitlines()
    for line in (
        "user me",
        "hostkeyalias nodus-uid",
        "stricthostkeychecking true",
        "identityfile /data/id",
        "identitiesonly yes",
        "proxycommand '/opt/my env/nodusctl' --chdir '/pro ject' ssh-proxy %h",
    ):
        assert line in read
    assert any(line.startswith("userknownhostsfile") and "with space" in line for line in read)


def test_each_project_owns_its_section_and_replaces_no_other(tmp_path: Path) -> None:
    install(tmp_path, "/one", section_text("/one", [ENTRY]))
    install(tmp_path, "/two", section_text("/two", [ENTRY]))
    both = (tmp_path / "config.d" / "nodusctl").read_text()
    install(tmp_path, "/one", section_text("/one", [ENTRY]))
    assert (tmp_path / "config.d" / "nodusctl").read_text() == both
    install(tmp_path, "/one", section_text("/one", []))
    assert not has_entry(tmp_path, "/one", "lab")
    assert has_entry(tmp_path, "/two", "lab")
    assert not has_entry(tmp_path, "/three", "lab")


def test_an_entry_tells_whose_host_key_it_takes(tmp_path: Path) -> None:
    other = replace(ENTRY, name="other", alias="nodus-other-uid")
    install(tmp_path, "/one", section_text("/one", [ENTRY, other]))
    install(tmp_path, "/two", section_text("/two", [replace(ENTRY, alias="nodus-of-two")]))
    assert [pinned_alias(tmp_path, "/one", name) for name in ("lab", "other", "la")] == ["nodus-uid", "nodus-other-uid", ""]
    assert pinned_alias(tmp_path, "/two", "lab") == "nodus-of-two"
    assert pinned_alias(tmp_path, "/three", "lab") == ""


def test_of_two_projects_with_a_host_of_one_name_ssh_takes_the_first_entry(tmp_path: Path) -> None:
    assert first_with(tmp_path, "lab") == ""
    for project in ("/one", "/two"):
        install(tmp_path, project, section_text(project, [ENTRY]))
    assert first_with(tmp_path, "lab") == "/one"
    assert first_with(tmp_path, "la") == ""
    install(tmp_path, "/one", section_text("/one", []))
    assert first_with(tmp_path, "lab") == "/two"


def test_the_include_comes_first_once_and_mode_link_and_words_of_the_users_file_stay(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles"
    real.write_text("Host a\n  User b\n")
    real.chmod(0o640)
    folder = tmp_path / ".ssh"
    folder.mkdir()
    (folder / "config").symlink_to(real)
    first = install(folder, "/p", section_text("/p", [ENTRY]))
    assert first.backup
    assert Path(first.backup).read_text() == "Host a\n  User b\n"
    assert install(folder, "/p", section_text("/p", [ENTRY])).backup == ""
    assert (folder / "config").is_symlink()
    assert real.read_text().startswith(f'Include "{folder}/config.d/nodusctl"\n')
    assert real.read_text().endswith("Host a\n  User b\n")
    assert real.read_text().count("Include") == 1
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_an_include_inside_a_host_block_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(f'Host a\n  Include "{tmp_path}/config.d/nodusctl"\n')
    install(tmp_path, "/p", section_text("/p", [ENTRY]))
    assert (tmp_path / "config").read_text().splitlines()[0].startswith("Include ")
