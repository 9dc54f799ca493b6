"""``nodusctl cron``, with a program in the place of crontab that keeps what it is given in a file.

The trial is real: processes of this very nodusctl in an empty environment.
"""

from __future__ import annotations

import json
import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.commands import LAB, NOW, SIMULATED, CommandLine, Ran

from nodusctl.base.exits import ExitCode

pytestmark = pytest.mark.slow

CRONTAB = """case "$1" in
-l) [ -f {tab} ] || {{ echo "no crontab for you" >&2; exit 1; }}; cat {tab} ;;
-r) rm -f {tab} ;;
-) cat > {tab} ;;
esac"""
THEIRS = b"MAILTO=me\n# caf\xe9, 50%\n0 3 * * * backup\n"


@dataclass(frozen=True, slots=True)
class Computer:
    """A person's computer: ``bin`` is first on their PATH, ``tab`` their crontab."""

    folder: Path
    cli: CommandLine

    @property
    def tab(self) -> Path:
        return self.folder / "tab"

    def program(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text.format(tab=self.tab)}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def __call__(self, *words: str, **more: str) -> Ran:
        """One nodusctl command in this person's environment."""
        own = {name: value for name, value in os.environ.items() if name.startswith("XDG_")}
        path = f"{self.folder / 'bin'}:/usr/bin:/bin"
        environment = {"PATH": path, "HOME": pwd.getpwuid(os.getuid()).pw_dir, "NODUSCTL_STATE_KEY": "", **own, **more}
        return CommandLine(self.cli.folder, environment)(*words)


@pytest.fixture
def computer(tmp_path: Path, empty_cli: CommandLine) -> Computer:
    """A simulated project on a computer with a crontab program and somebody else's lines."""
    made = Computer(tmp_path, empty_cli)
    made.program("crontab", CRONTAB)
    made.tab.write_bytes(THEIRS)
    empty_cli.write("nodusctl.yaml", SIMULATED)
    empty_cli.write("ws.yaml", LAB)
    assert made("sim", "init", "--now", NOW).code == 0
    return made


def result_of(ran: Ran) -> dict[str, object]:
    return next(one for one in map(json.loads, ran.out.splitlines()) if one["type"] == "result")


def codes_of(ran: Ran) -> list[str]:
    return [one["code"] for one in map(json.loads, ran.out.splitlines()) if one["type"] == "diagnostic"]


def test_install_tries_and_writes_show_tells_and_remove_leaves_other_lines_byte_for_byte(computer: Computer) -> None:
    assert computer("apply", "--yes").code is ExitCode.DONE
    assert "No tick was made yet" in computer("cron", "show").out
    ran = computer("cron", "install", "--every", "10m", "--crontab")
    assert ran.code is ExitCode.DONE, ran.err
    written = computer.tab.read_bytes()
    assert written.startswith(THEIRS)
    line = written.decode(errors="replace").splitlines()[-2]
    assert line.startswith("*/10 * * * * XDG_CACHE_HOME=")
    assert line.endswith(f"--chdir {computer.cli.folder} tick --quiet")
    assert line in ran.out
    shown = result_of(computer("cron", "show", "--json"))
    assert (shown["every"], shown["installed"]) == ("10m", [{"kind": "crontab", "text": line}])
    assert [one["isGood"] for one in shown["ticks"]] == [True], "the trial was a real tick"  # type: ignore[attr-defined]
    assert shown["lastGoodTickAt"] == shown["ticks"][0]["startedAt"]  # type: ignore[index]
    assert result_of(computer("cron", "remove", "--json"))["removed"] == [{"kind": "crontab", "text": line}]
    assert computer.tab.read_bytes() == THEIRS
    assert "Nothing was installed" in computer("cron", "remove").out


def test_a_state_key_that_stands_in_a_variable_only_is_refused_with_the_command_that_keeps_it(computer: Computer) -> None:
    key = "0f" * 32
    ran = computer("cron", "install", "--crontab", "--json", NODUSCTL_STATE_KEY=key)
    assert (ran.code, codes_of(ran)) == (ExitCode.ERROR, ["TrialFailed", "StateKeyMissing"])
    assert "printenv NODUSCTL_STATE_KEY >" in ran.out
    assert key not in ran.out
    assert computer.tab.read_bytes() == THEIRS
    kept = Path(os.environ["XDG_DATA_HOME"]) / "nodusctl" / "state.key"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(key + "\n")
    kept.chmod(0o600)
    assert computer("cron", "install", "--crontab", NODUSCTL_STATE_KEY=key).code is ExitCode.DONE


def test_whatever_the_tick_says_in_an_empty_environment_is_the_list_of_what_failed(computer: Computer) -> None:
    computer("apply", "--yes")
    assert computer("sim", "fault", "add", "--op", "get", "--effect", "error Unauthorized scope account").code is ExitCode.DONE
    ran = computer("cron", "install", "--crontab", "--json", CLOUD_TOKEN="x" * 20, SSH_AUTH_SOCK="/run/agent")
    assert ran.code is ExitCode.ERROR
    assert codes_of(ran)[0] == "TrialFailed"
    assert "ProviderNotReady" in codes_of(ran)[1:]
    assert "your environment only (CLOUD_TOKEN)" in ran.out
    assert "ssh-agent isn't there" in ran.out
    assert "x" * 20 not in ran.out
    assert computer.tab.read_bytes() == THEIRS


def test_a_program_that_only_the_persons_path_finds_is_refused_until_the_path_is_kept(computer: Computer, tmp_path: Path) -> None:
    """Here the crontab itself sets a PATH without ssh, as some do."""
    (tmp_path / "bare").mkdir()
    computer.tab.write_text(f"PATH={tmp_path / 'bare'}\n")
    ran = computer("cron", "install", "--crontab", "--json")
    assert (ran.code, "ProgramMissing" in codes_of(ran)) == (ExitCode.ERROR, True), ran.out
    assert "nodusctl cron install --keep PATH" in ran.out
    assert computer("cron", "install", "--crontab", "--keep", "PATH").code is ExitCode.DONE
    assert f"PATH={tmp_path / 'bin'}:/usr/bin:/bin" in computer.tab.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--every", "7m"], "nodusctl cron install --every 6m", id="no divisor of an hour"),
        pytest.param(["--every", "2h"], "--every 1h", id="too long"),
        pytest.param(["--every", "soon"], "no duration", id="no duration"),
        pytest.param(["--systemd", "--crontab"], "two answers", id="both"),
        pytest.param(["--keep", "NOWHERE"], "not set", id="not set"),
        pytest.param(["--keep", "API_TOKEN"], "no place for a secret", id="a secret"),
        pytest.param(["--keep", "NODUSCTL_STATE_KEY"], "no place for a secret", id="the state key"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(computer: Computer, words: list[str], said: str) -> None:
    ran = computer("cron", "install", *words, API_TOKEN="abc")
    assert (ran.code, said in ran.err) == (ExitCode.USAGE, True), ran.err
    assert computer.tab.read_bytes() == THEIRS


def test_without_any_crontab_program_it_says_what_to_install(computer: Computer) -> None:
    (computer.folder / "bin" / "crontab").unlink()
    ran = computer("cron", "install", "--crontab", PATH=str(computer.folder / "bin"))
    assert (ran.code, "apt-get install cron" in ran.err) == (ExitCode.ERROR, True)
    assert computer("cron", "show", PATH=str(computer.folder / "bin")).code is ExitCode.DONE


def test_a_person_who_may_have_no_crontab_is_told_what_crontab_said(computer: Computer) -> None:
    computer.program("crontab", "echo 'You are not allowed to use this program' >&2; exit 1")
    ran = computer("cron", "show", "--json")
    assert (ran.code, codes_of(ran)) == (ExitCode.ERROR, ["CronRefused"])
    assert "not allowed" in ran.out


def test_plan_apply_start_doctor_and_show_say_when_nobody_ticks(computer: Computer) -> None:
    window = LAB.replace("labels: {team: vision}", 'annotations: {nodus.dev/windows: "daily 12:00-17:00 UTC"}')
    computer.cli.write("ws.yaml", window)
    assert "NoTicker" not in computer("plan").err, "nothing is there yet that could need a tick"
    assert "note[NoTicker]" in computer("apply", "--yes").err
    for words in (["plan"], ["cron", "show"]):
        assert "note[NoTicker]" in computer(*words).err
    assert "NoTicker" in computer("doctor").out
    assert computer("sim", "advance", "10m", "--tick", "5m").code is ExitCode.DONE
    for words in (["plan"], ["cron", "show"]):
        assert "NoTicker" not in computer(*words).err
    assert "NoTicker" not in computer("start", "lab").err
