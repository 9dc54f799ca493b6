"""Where a tick can be set up: this person's crontab, or systemd's user manager. Both only through their own programs.

CronRefused           the program is there and wouldn't do it
ProgramMissing        it isn't there
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from nodusctl.base.diagnostics import Diagnostic, error, warning
from nodusctl.base.exits import UserError
from nodusctl.engine import cron_text
from nodusctl.engine.cron_command import TickCommand, crontab_line
from nodusctl.engine.cron_units import service_text, timer_text, unit_name

_LIMIT_SECONDS = 30
_NO_CRONTAB = "no crontab for"
_DAEMONS = frozenset({"cron", "crond", "fcron", "cronie", "bcron-start", "anacron"})


class Timekeeper(Protocol):
    """One place a tick can be set up. ``kind`` is crontab or systemd."""

    kind: str

    def installed(self, folder: Path) -> str:
        """What stands there for the project, as text; empty for nothing. UserError where it can't be read."""
        ...

    def variables(self, folder: Path) -> Mapping[str, str]:
        """What it sets by itself for the project's tick, beyond an empty environment."""
        ...

    def install(self, command: TickCommand, every: timedelta) -> str:
        """Put it there, in place of what stood there for the project; the text. UserError where that fails."""
        ...

    def remove(self, folder: Path) -> None:
        """Take it away."""
        ...

    def doubts(self) -> Iterator[Diagnostic]:
        """Why what is installed may not run."""
        ...


class CrontabProgram:
    """The crontab of this user."""

    kind = "crontab"

    def __init__(self, environment: Mapping[str, str], processes: Path = Path("/proc")) -> None:
        self._environment, self._processes = {**environment, "LC_ALL": "C"}, processes

    def is_here(self) -> bool:
        """True where there is a ``crontab`` to call."""
        return _found("crontab", self._environment) is not None

    def installed(self, folder: Path) -> str:
        return cron_text.entry_of(self._read(), folder) if self.is_here() else ""

    def variables(self, folder: Path) -> Mapping[str, str]:
        return cron_text.assignments(self._read(), folder)

    def install(self, command: TickCommand, every: timedelta) -> str:
        line, before = crontab_line(command, every), self._read()
        self._write(before, cron_text.with_entry(before, command.folder, line))
        return line

    def remove(self, folder: Path) -> None:
        before = self._read()
        self._write(before, cron_text.without_entry(before, folder))

    def doubts(self) -> Iterator[Diagnostic]:
        if not self.daemon_runs():
            detail = "The crontab is written, but no cron daemon runs that would read it."
            fix = "Start it, as root:\n  service cron start\n  systemctl enable --now cron"
            yield warning("CronStopped", "No cron daemon is running.", detail, fix)

    def daemon_runs(self) -> bool:
        """True where a cron daemon is seen, and where processes can't be seen."""
        names = list(self._processes.glob("[0-9]*/comm"))
        return not names or any(_text_of(one).strip() in _DAEMONS for one in names)

    def _read(self) -> str:
        ended = _ran(["crontab", "-l"], self._environment, "")
        if ended.returncode and _NO_CRONTAB in ended.stderr:
            return ""
        if ended.returncode:
            raise _refused("The crontab can't be read.", ended.stderr)
        return ended.stdout

    def _write(self, before: str, after: str) -> None:
        if after == before:
            return
        ended = _ran(["crontab", "-"] if after else ["crontab", "-r"], self._environment, after)
        if ended.returncode:
            raise _refused("The crontab can't be written.", ended.stderr)


class SystemdUser:
    """Timers of this user's systemd."""

    kind = "systemd"

    def __init__(self, environment: Mapping[str, str], home: Path) -> None:
        self._environment = {**environment, "LC_ALL": "C"}
        configuration = environment.get("XDG_CONFIG_HOME")
        self._folder = (Path(configuration) if configuration else home / ".config") / "systemd" / "user"

    def is_usable(self) -> bool:
        """True where a user manager answers."""
        if _found("systemctl", self._environment) is None:
            return False
        return _ran(["systemctl", "--user", "show-environment"], self._environment, "").returncode == 0

    def installed(self, folder: Path) -> str:
        paths = self._paths(folder)
        return "\n".join(_text_of(path).rstrip("\n") for path in paths if path.exists())

    def variables(self, folder: Path) -> Mapping[str, str]:
        return {}

    def install(self, command: TickCommand, every: timedelta) -> str:
        service, timer = self._paths(command.folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        service.write_text(service_text(command), encoding="utf-8", errors="surrogateescape")
        timer.write_text(timer_text(command.folder, every), encoding="utf-8", errors="surrogateescape")
        self._call("daemon-reload")
        self._call("enable", "--now", timer.name)
        return self.installed(command.folder)

    def remove(self, folder: Path) -> None:
        service, timer = self._paths(folder)
        if not timer.exists() and not service.exists():
            return
        self._call("disable", "--now", timer.name)
        for path in (service, timer):
            path.unlink(missing_ok=True)
        self._call("daemon-reload")

    def doubts(self) -> Iterator[Diagnostic]:
        ended = _ran(["loginctl", "show-user", "--property=Linger", "--value"], self._environment, "")
        if ended.returncode == 0 and ended.stdout.strip() == "no":
            detail = "A user's timers end with the user's last login session, so nothing would tick while you are logged out."
            yield warning("CronStopped", "The timer stops when you log out.", detail, "Let it go on:\n  loginctl enable-linger")

    def _paths(self, folder: Path) -> tuple[Path, Path]:
        name = unit_name(folder)
        return self._folder / f"{name}.service", self._folder / f"{name}.timer"

    def _call(self, *words: str) -> None:
        ended = _ran(["systemctl", "--user", *words], self._environment, "")
        if ended.returncode:
            raise _refused("systemd would not take the timer.", ended.stderr)


def _refused(summary: str, said: str) -> UserError:
    detail = said.strip() or "It said nothing."
    fix = "Where only some users may have a crontab, have root add yours:\n  sh -c 'echo USER >> /etc/cron.allow'"
    return UserError(error("CronRefused", summary, detail, fix))


def missing_program(name: str) -> UserError:
    """Neither a crontab nor a user manager: nothing here can keep time."""
    packages = {"crontab": "cron", "systemctl": "systemd"}
    detail = f"{name} is not on PATH, and without it nothing here can tick at intervals."
    return UserError(error("ProgramMissing", "A program is not installed", detail, f"Run as root:\n  apt-get install {packages[name]}"))


def _found(name: str, environment: Mapping[str, str]) -> str | None:
    return shutil.which(name, path=environment.get("PATH", ""))


def _ran(words: Sequence[str], environment: Mapping[str, str], text: str) -> subprocess.CompletedProcess[str]:
    program = _found(words[0], environment)
    if program is None:
        raise missing_program(words[0]) if words[0] in {"crontab", "systemctl"} else _refused(f"{words[0]} is not installed.", "")
    try:
        return subprocess.run(
            [program, *words[1:]],
            input=text,
            env=dict(environment),
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=_LIMIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise _refused(f"{words[0]} can't be used.", str(problem)) from None


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
