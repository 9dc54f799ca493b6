"""``state keys`` on the command line: where keys go, what is printed once, and what is printed never."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from support.commands import STATE_KEY, CommandLine, Ran

from nodusctl.base.exits import ExitCode
from nodusctl.engine import checkup
from nodusctl.store.member_keys import PUBLIC, SECRET


@pytest.fixture
def applied(cli: CommandLine) -> CommandLine:
    assert cli("apply", "--yes").code is ExitCode.DONE
    return cli


def code_of(ran: Ran) -> str:
    return next(json.loads(line)["code"] for line in ran.out.splitlines() if '"severity": "error"' in line)


def member_key() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("nodusctl", appauthor=False)) / "member.key"


def test_a_public_key_is_all_of_stdout(cli: CommandLine) -> None:
    """So that it can be sent on by a pipe; needs neither a state nor a key to one."""
    ran = cli("state", "keys", "new")
    assert (ran.code, ran.out.count("\n")) == (ExitCode.DONE, 1)
    assert ran.out.startswith(PUBLIC)
    assert cli("state", "keys", "new").out == ran.out
    assert (SECRET in ran.err, f"lies in {member_key()}" in " ".join(ran.err.split())) == (False, True)
    assert member_key().read_text().startswith(SECRET)


def test_the_recovery_key_is_told_once(applied: CommandLine) -> None:
    ran = applied("state", "keys", "init", "ada")
    lines = ran.out.splitlines()
    assert (ran.code, lines[0].startswith("ada has the key now")) == (ExitCode.DONE, True)
    assert lines[1].startswith(SECRET)
    listed = applied("state", "keys", "list")
    assert SECRET not in listed.out + applied("state", "history", "--json").out + applied("state", "pull").out
    assert [line.split()[0] for line in listed.out.splitlines()] == ["MEMBER", "ada", "recovery"]


def test_the_recovery_key_goes_to_a_new_file(applied: CommandLine) -> None:
    applied.write("there.key", "something else")
    assert code_of(applied("state", "keys", "init", "--recovery-file", "there.key", "--json")) == "Usage"
    assert code_of(applied("state", "keys", "init", "--json")) == "Usage"
    assert applied("state", "keys", "list").out.startswith("No members")
    ran = applied("state", "keys", "init", "ada", "--recovery-file", "recovery.key", "--json")
    assert (ran.code, SECRET in ran.out) == (ExitCode.DONE, False)
    path = applied.folder / "recovery.key"
    assert (path.stat().st_mode & 0o777, path.read_text().startswith(SECRET)) == (0o600, True)
    ran = applied("state", "keys", "recovery", "--recovery-file", "renewed.key")
    assert (ran.code, (applied.folder / "renewed.key").read_text() != path.read_text()) == (ExitCode.DONE, True)


def test_a_secret_key_given_for_a_public_one_is_not_repeated(applied: CommandLine) -> None:
    applied("state", "keys", "init", "ada", "--recovery-file", "recovery.key")
    secret = (applied.folder / "recovery.key").read_text().strip()
    ran = applied("state", "keys", "add", "ben", secret)
    assert (ran.code, secret in ran.out + ran.err) == (ExitCode.ERROR, False)


def test_a_removal_says_what_it_leaves(applied: CommandLine, tmp_path: Path) -> None:
    applied("state", "keys", "init", "ada", "--recovery-file", "recovery.key")
    from nodusctl.store import member_keys

    public = member_keys.public_of(member_keys.new_secret())
    assert applied("state", "keys", "add", "ben", public).code is ExitCode.DONE
    ran = applied("state", "keys", "remove", "ben")
    assert (ran.code, "KeyStillKnown" in ran.err, "nodusctl state keys rotate" in ran.err) == (ExitCode.DONE, True, True)
    applied("state", "keys", "add", "ben", public)
    ran = applied("state", "keys", "remove", "ben", "--rotate")
    assert (ran.code, ran.err) == (ExitCode.DONE, "")
    assert applied("state", "keys", "rotate").out.startswith("A new key, for ada, recovery;")


def test_doctor_names_the_members_and_whoever_was_planted(applied: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SCARCE_BYTES", "FULL_BYTES"):  # whatever room this disk has
        monkeypatch.setattr(checkup, name, 0)
    assert " members " not in applied("doctor").out
    applied("state", "keys", "init", "ada", "--recovery-file", "recovery.key")
    healthy = applied("doctor")
    assert (healthy.code, any(line.split()[2:] == ["members", "ada"] for line in healthy.out.splitlines())) == (ExitCode.DONE, True)
    connection = sqlite3.connect(applied.folder / ".nodus/state.db")
    columns = "public_key, wrapped, 'made up', added_at, added_by"
    connection.execute(f"INSERT INTO key_copies SELECT 'mallory', {columns} FROM key_copies WHERE member = 'recovery'")
    connection.commit()
    connection.close()
    for words in (("doctor",), ("state", "keys", "list")):
        ran = applied(*words)
        assert "MemberUnknown" in ran.out + ran.err
        assert "nodusctl state keys remove mallory" in ran.out + ran.err
    assert code_of(applied("state", "keys", "rotate", "--json")) == "StateKeyWrong"


def test_settings_say_where_keys_come_from(applied: CommandLine) -> None:
    person = CommandLine(applied.folder, {"NODUSCTL_STATE_KEY": "", "NODUSCTL_STATE_KEY_SOURCE": "keyring"})
    assert "(the desktop's keyring)" in person("config", "view").out
    wrong = CommandLine(applied.folder, {"NODUSCTL_STATE_KEY": STATE_KEY, "NODUSCTL_STATE_KEY_SOURCE": "cloud"})
    assert wrong("config", "view").code is ExitCode.USAGE


def test_a_password_in_the_projects_url_is_not_shown(cli: CommandLine) -> None:
    cli.write("nodusctl.yaml", "state: postgresql://ada:hunter2-of-it@db/lab\n")
    ran = cli("config", "view", "--origin")
    assert ("postgresql://ada:***@db/lab" in ran.out, "hunter2" in ran.out + ran.err) == (True, False)
