"""Members and their keys, on disk and on a server: kills in the middle of a rotation, rows that were planted, and the desktop's keyring."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import NoKeyringError
from support.open_states import kept
from support.postgres import Server

from nodusctl.base.clock import SystemWall
from nodusctl.base.exits import UserError
from nodusctl.ports.keys import RECOVERY, KeyChange
from nodusctl.state.status import ObjectStatus, SecretStanding
from nodusctl.state.vault_names import secret_value
from nodusctl.store import member_keys
from nodusctl.store.opening import State, open_state
from nodusctl.store.sealing import KeyMaterial
from nodusctl.testing.store_hooks import NOON, a_consumption

HERE = Path(__file__).parent
CHANGE = KeyChange(by="ada@lab1", at=NOON)
NAMES = tuple(secret_value("uid-lab", 1, f"key-{number}") for number in range(40))
FILE = "sqlite:///.nodus/state.db"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest) -> str:
    """A place where no state is yet, of both kinds."""
    if request.param == "sqlite":
        return FILE
    server: Server = request.getfixturevalue("postgres")
    return server.new_state()


def opened(url: str, root: Path, who: str = "ada", **material: object) -> State:
    key = KeyMaterial(**{"path": root / f"{who}/state.key", "member_path": root / f"{who}/member.key", **material})  # type: ignore[arg-type]
    return kept(open_state(url, root=root, key=key, wall=SystemWall(), holder_command="nodusctl test"))


def a_team(url: str, root: Path) -> str:
    """A state with forty sealed values, whose only member is Ada; the recovery key."""
    with opened(url, root) as state:
        hmacs = {name.rpartition("/")[2]: state.journal.fingerprint_secret(f"value of {name}") for name in NAMES}
        status = ObjectStatus(secret=SecretStanding(version=1, hmacs=hmacs))
        sealed = {name: f"value of {name}" for name in NAMES}
        state.journal.consume(replace(a_consumption(), sealed=sealed, statuses={"uid-lab": status}))
        return state.keys.found("ada", CHANGE).recovery_secret


def test_a_rotation_killed_anywhere_leaves_one_key_and_everything_under_it(url: str, tmp_path: Path) -> None:
    """The former or the new one: values, fingerprints, copies and the recovery copy agree."""
    recovery = a_team(url, tmp_path)
    for moment in (0.02, 0.05, 0.09, 0.14, 0.2):
        writer = subprocess.Popen(
            [sys.executable, str(HERE / "store_writer.py"), str(tmp_path), "rotate", url], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        assert writer.stdout.readline().strip() == "working"
        time.sleep(moment)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        for material in ({}, {"text": recovery}):
            with opened(url, tmp_path, **material) as state:
                assert [state.journal.secret(name) for name in NAMES] == [f"value of {name}" for name in NAMES]
                stored = state.journal.load("uid-lab")
                assert stored is not None
                assert stored.status.secret is not None
                wanted = {name.rpartition("/")[2]: state.journal.fingerprint_secret(f"value of {name}") for name in NAMES}
                assert dict(stored.status.secret.hmacs) == wanted
                assert all(one.is_vouched_for for one in state.keys.members())


def test_a_member_who_was_planted_gets_no_key(postgres: Server, tmp_path: Path) -> None:
    """Whoever can write to the database can add a row, but nothing is ever wrapped for it: not by a rotation, and the list says so."""
    url = postgres.new_state()
    a_team(url, tmp_path)
    mallory = member_keys.new_secret()
    with postgres.in_state(url) as connection:
        connection.execute(
            "INSERT INTO key_copies SELECT 'mallory', %s, wrapped, proof, added_at, added_by FROM key_copies WHERE member = 'ada'",
            (member_keys.public_of(mallory),),
        )
    with opened(url, tmp_path) as state:
        assert {one.name: one.is_vouched_for for one in state.keys.members()} == {"ada": True, "mallory": False, RECOVERY: True}
        with pytest.raises(UserError) as refusal:
            state.keys.rotate(CHANGE)
        assert "mallory" in refusal.value.diagnostics[0].detail
        with opened(url, tmp_path, "mallory", text=mallory) as theirs, pytest.raises(UserError):
            theirs.journal.secret(NAMES[0])
        state.keys.remove("mallory", CHANGE)
        assert state.keys.rotate(CHANGE).members == ("ada", RECOVERY)


def test_a_members_copy_opens_under_its_own_name_only(tmp_path: Path) -> None:
    """A copy that was moved to another name, in the hope that it stays when its owner is removed, opens nothing."""
    a_team(FILE, tmp_path)
    with opened(FILE, tmp_path, "ben") as ben, opened(FILE, tmp_path) as ada:
        ada.keys.add("ben", ben.keys.make_own().public_key, CHANGE)
        assert ben.journal.secret(NAMES[0]) == f"value of {NAMES[0]}"
    path = tmp_path / ".nodus/state.db"
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE key_copies SET member = 'somebody' WHERE member = 'ben'")
    connection.close()
    with opened(FILE, tmp_path, "ben") as ben, pytest.raises(UserError) as refusal:
        ben.journal.secret(NAMES[0])
    assert refusal.value.diagnostics[0].code == "StateKeyWrong"


def test_nothing_in_the_state_opens_it(tmp_path: Path) -> None:
    recovery = a_team(FILE, tmp_path)
    secret = (tmp_path / "ada/member.key").read_text().strip()
    for path in (tmp_path / ".nodus").iterdir():
        content = path.read_bytes()
        assert not any(text.encode() in content for text in (recovery, secret, f"value of {NAMES[0]}"))


class Desktop(KeyringBackend):
    """A keyring in memory."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


class Locked(Desktop):
    """One that nobody unlocks."""

    def get_password(self, service: str, username: str) -> str | None:
        raise NoKeyringError("No recommended backend was available")


@pytest.fixture
def desktop() -> Iterator[Desktop]:
    before, backend = keyring.get_keyring(), Desktop()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


class TestKeyring:
    def test_a_states_key_and_a_members_may_lie_in_the_keyring(self, desktop: Desktop, tmp_path: Path) -> None:
        """No key file is made; the next process finds both."""
        with opened(FILE, tmp_path, uses_keyring=True) as state:
            state.journal.consume(replace(a_consumption(), sealed={"t": "value"}))
        assert list(desktop.kept) == [("nodusctl", "state key")]
        with opened(FILE, tmp_path, uses_keyring=True) as state:
            assert state.journal.secret("t") == "value"
            assert state.keys.make_own().place == "the keyring (nodusctl, member key)"
            state.keys.found("ada", CHANGE)
        with opened(FILE, tmp_path, uses_keyring=True) as state:
            assert state.journal.secret("t") == "value"
        assert not (tmp_path / "ada").exists()

    def test_a_keyring_that_stays_shut_is_told(self, desktop: Desktop, tmp_path: Path) -> None:
        with opened(FILE, tmp_path, uses_keyring=True) as state:
            state.journal.consume(replace(a_consumption(), sealed={"t": "value"}))
        keyring.set_keyring(Locked())
        with opened(FILE, tmp_path, uses_keyring=True) as state, pytest.raises(UserError) as refusal:
            state.journal.secret("t")
        told = refusal.value.diagnostics[0]
        assert (told.code, "cron" in told.detail) == ("StateKeyMissing", True)

    def test_a_missing_library_is_told_with_the_command(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "keyring", None)
        with opened(FILE, tmp_path, uses_keyring=True) as state, pytest.raises(UserError) as refusal:
            state.journal.consume(replace(a_consumption(), sealed={"t": "value"}))
        assert "pip install 'nodusctl[keyring]'" in refusal.value.diagnostics[0].fix
