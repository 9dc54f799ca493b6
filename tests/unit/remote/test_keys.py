"""Keys are OpenSSH's own, private to their owner, and a person has one."""

from __future__ import annotations

import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nodusctl.remote.keys import OpenSshKeys, fingerprint, person_key, public_of


def test_a_new_key_is_one_ssh_keygen_reads(tmp_path: Path) -> None:
    pair = OpenSshKeys().new_key("a comment")
    path = tmp_path / "key"
    path.touch(mode=0o600)
    path.write_text(pair.private)
    said = subprocess.run(["ssh-keygen", "-y", "-f", str(path)], capture_output=True, text=True, check=True).stdout
    assert said.split()[:2] == pair.public.split()[:2]
    assert pair.public.endswith(" a comment")
    assert "PRIVATE" not in repr(pair)


def test_a_fingerprint_is_the_one_ssh_keygen_prints(tmp_path: Path) -> None:
    public = OpenSshKeys().new_key("name").public
    (tmp_path / "key.pub").write_text(public + "\n")
    said = subprocess.run(["ssh-keygen", "-l", "-f", str(tmp_path / "key.pub")], capture_output=True, text=True, check=True).stdout
    assert fingerprint(public) in said.split()


@pytest.mark.parametrize("line", ["", "ssh-ed25519", "ssh-ed25519 not!base64"])
def test_a_line_that_is_no_key_has_no_fingerprint(line: str) -> None:
    with pytest.raises(ValueError, match="public key"):
        fingerprint(line)


def test_the_person_key_is_made_once_whoever_asks_first(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: person_key(str(tmp_path)), range(8)))
    assert len({pair.public for pair, _ in answers}) == 1
    pair, path = answers[0]
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert public_of(Path(path).read_text()) == " ".join(pair.public.split()[:2])
    assert sorted(child.name for child in (tmp_path / "ssh").iterdir()) == ["id_ed25519", "id_ed25519.pub"]
