"""Setting a tick up where crontab and systemctl are programs that keep what they are given; the trial is taken as passed or failed."""

from __future__ import annotations

import shlex
import stat
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.engine.cron_command import TickCommand
from nodusctl.engine.cron_programs import CrontabProgram, SystemdUser
from nodusctl.engine.cron_record import read_ticker
from nodusctl.engine.cron_setup import Around, Places, TickerReport, Wish, chosen, install, look, remove
from nodusctl.engine.cron_trial import Account, Trial, explained
from nodusctl.store.memory import MemoryPasses

CRONTAB = """case "$1" in
-l) [ -f {tab} ] || {{ echo "no crontab for you" >&2; exit 1; }}; cat {tab} ;;
-r) rm -f {tab} ;;
-) cat > {tab} ;;
esac"""
MINUTE = timedelta(minutes=1)
THEIRS = b"MAILTO=me\n# caf\xe9, 50%\n0 3 * * * backup\n"


@dataclass(frozen=True, slots=True)
class Computer:
    """``bin`` is the PATH; ``tab`` the crontab, ``log`` what systemctl was told, ``processes`` what runs."""

    folder: Path

    @property
    def tab(self) -> Path:
        return self.folder / "tab"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def project(self) -> Path:
        return self.folder / "lab"

    @property
    def places(self) -> Places:
        environment = {"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin", "HOME": str(self.folder)}
        return Places(crontab=CrontabProgram(environment, self.folder / "processes"), systemd=SystemdUser(environment, self.folder))

    @property
    def around(self) -> Around:
        return Around(
            account=Account(name="ada", home="/home/ada"),
            environment={},
            state_folder=self.project / ".nodus",
            key_file=self.folder / "key",
            now=datetime(2026, 3, 2, tzinfo=UTC),
            host="test",
        )

    def program(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def runs(self, *names: str) -> None:
        for number, name in enumerate(names, start=1):
            folder = self.folder / "processes" / str(number)
            folder.mkdir(parents=True)
            (folder / "comm").write_text(f"{name}\n")

    def install(self, kind: str = "", every: timedelta = 5 * MINUTE) -> TickerReport:
        command = TickCommand(program=("/opt/nodusctl",), folder=self.project)
        return install(Wish(command=command, every=every, kind=kind), self.places, self.around, lambda trial: ())

    def look(self) -> TickerReport:
        return look(self.project, self.places, self.project / ".nodus", MemoryPasses())


@pytest.fixture
def computer(tmp_path: Path) -> Computer:
    """A computer with a cron daemon, a crontab program and somebody else's lines, and a systemctl that takes everything."""
    made = Computer(tmp_path)
    (tmp_path / "bin").mkdir()
    made.program("crontab", CRONTAB.format(tab=shlex.quote(str(made.tab))))
    made.program("systemctl", f'echo "$@" >> {shlex.quote(str(made.log))}')
    made.tab.write_bytes(THEIRS)
    made.runs("init", "cron")
    return made


def test_where_a_cron_daemon_runs_the_crontab_is_chosen(computer: Computer) -> None:
    assert computer.install().tickers[0].kind == "crontab"
    assert (
        computer.tab.read_bytes()
        == THEIRS
        + (
            f"# >>> nodusctl tick {computer.project} (nodusctl cron install wrote these lines)\n"
            f"*/5 * * * * /opt/nodusctl --chdir {computer.project} tick --quiet\n"
            f"# <<< nodusctl tick {computer.project}\n"
        ).encode()
    )


def test_installing_again_replaces_and_removing_restores(computer: Computer) -> None:
    computer.install()
    computer.install(every=MINUTE)
    assert computer.tab.read_bytes().count(b"tick --quiet") == 1
    recorded = read_ticker(computer.project / ".nodus")
    assert recorded is not None
    assert recorded.every == MINUTE
    assert len(remove(computer.project, computer.places, computer.project / ".nodus")) == 1
    assert computer.tab.read_bytes() == THEIRS
    assert read_ticker(computer.project / ".nodus") is None
    assert remove(computer.project, computer.places, computer.project / ".nodus") == ()


def test_where_there_was_no_crontab_none_is_left(computer: Computer) -> None:
    computer.tab.unlink()
    computer.install()
    remove(computer.project, computer.places, computer.project / ".nodus")
    assert not computer.tab.exists()


def test_a_systemd_timer_is_written_enabled_and_taken_away(computer: Computer) -> None:
    computer.install("systemd", 20 * MINUTE)
    service, timer = sorted((computer.folder / ".config" / "systemd" / "user").iterdir())
    assert f'"--chdir" "{computer.project}" "tick" "--quiet"' in service.read_text()
    assert "OnCalendar=*:0/20" in timer.read_text()
    assert computer.tab.read_bytes() == THEIRS
    remove(computer.project, computer.places, computer.project / ".nodus")
    assert not service.exists()
    assert not timer.exists()
    assert computer.log.read_text().splitlines()[1:] == [
        "--user daemon-reload",
        f"--user enable --now {timer.name}",
        f"--user disable --now {timer.name}",
        "--user daemon-reload",
    ]


@pytest.mark.parametrize(("first", "second"), [("crontab", "systemd"), ("systemd", "crontab")])
def test_changing_over_never_leaves_two(computer: Computer, first: str, second: str) -> None:
    computer.install(first)
    computer.install(second)
    assert [one.kind for one in computer.look().tickers] == [second]


def test_without_a_daemon_systemd_is_chosen_and_without_both_the_crontab_with_a_warning(tmp_path: Path) -> None:
    computer = Computer(tmp_path)
    (tmp_path / "bin").mkdir()
    computer.program("crontab", CRONTAB.format(tab=shlex.quote(str(computer.tab))))
    computer.program("systemctl", "exit 0")
    computer.runs("init")
    assert chosen("", computer.places).kind == "systemd"
    computer.program("systemctl", "exit 1")
    assert [doubt.code for doubt in computer.install().doubts] == ["CronStopped"]


def test_systemd_that_does_not_answer_is_refused(computer: Computer) -> None:
    computer.program("systemctl", "exit 1")
    with pytest.raises(UserError) as caught:
        computer.install("systemd")
    assert caught.value.diagnostics[0].code == "CronRefused"


def test_a_timer_that_would_end_at_logout_is_warned_of(computer: Computer) -> None:
    computer.program("loginctl", "echo no")
    assert [doubt.fix for doubt in computer.install("systemd").doubts] == ["Let it go on:\n  loginctl enable-linger"]


def test_what_fails_the_trial_leaves_everything_as_it_was(computer: Computer) -> None:
    command = TickCommand(program=("/opt/nodusctl",), folder=computer.project)
    seen: list[Trial] = []

    def failing(trial: Trial) -> tuple[Diagnostic, ...]:
        seen.append(trial)
        return (error("Unauthorized", "no"),)

    with pytest.raises(UserError) as caught:
        install(Wish(command=command, every=MINUTE), computer.places, computer.around, failing)
    assert [one.code for one in caught.value.diagnostics] == ["TrialFailed", "Unauthorized"]
    assert computer.tab.read_bytes() == THEIRS
    assert not (computer.project / ".nodus").exists()
    assert seen[0].there == {"HOME": "/home/ada", "LOGNAME": "ada", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin", "MAILTO": "me"}


def test_a_line_longer_than_cron_reads_is_refused(computer: Computer) -> None:
    deep = TickCommand(program=("/opt/nodusctl",), folder=Path("/" + "a" * 1000))
    with pytest.raises(UserError) as caught:
        install(Wish(command=deep, every=MINUTE), computer.places, computer.around, lambda trial: ())
    assert "too long" in caught.value.diagnostics[0].summary


def test_a_finding_names_what_only_the_persons_environment_has() -> None:
    here = {"AWS_SECRET_ACCESS_KEY": "x", "SSH_AUTH_SOCK": "/run/agent", "PATH": "/home/ada/bin"}
    there = {"PATH": "/usr/bin:/bin"}
    refused = explained(error("Unauthorized", "no", fix="log in"), here, there=there)
    assert refused.fix.startswith("log in\n")
    assert "(AWS_SECRET_ACCESS_KEY)" in refused.fix
    assert "ssh-agent isn't there" in refused.fix
    missing = explained(error("ProgramMissing", "no"), here, there=there)
    assert missing.fix.endswith("nodusctl cron install --keep PATH")
    assert explained(error("Invalid", "no"), there, there=there).fix == "Mend it, then repeat:\n  nodusctl cron install"
