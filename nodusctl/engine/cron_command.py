"""The command that cron runs for a project, in the spellings of a shell, a crontab and a systemd unit.

All of it is absolute, because cron has no PATH and starts in the home folder. Variables that say where a person's folders are come along;
a secret never does.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

LONGEST_LINE = 990
"""Debian's cron takes commands of up to 998 characters."""
EVERY_MINUTES = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60)
"""Intervals a crontab can say: those that divide an hour."""
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TickCommand:
    """``program`` is how this nodusctl is called, ``folder`` the project's, ``variables`` what is set for it."""

    program: tuple[str, ...]
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def words(self, *words: str) -> tuple[str, ...]:
        """A nodusctl command in this project; without ``words`` the tick itself."""
        return (*self.program, "--chdir", str(self.folder), *(words or ("tick", "--quiet")))

    def shell(self, *words: str) -> str:
        """The same as one line for ``sh -c``."""
        settings = [f"{name}={shlex.quote(value)}" for name, value in sorted(self.variables.items())]
        return " ".join([*settings, shlex.join(self.words(*words))])


def crontab_line(command: TickCommand, every: timedelta) -> str:
    """Five fields and the command. A percent sign would end the command for cron."""
    return f"{crontab_schedule(every)} {command.shell().replace('%', chr(92) + '%')}"


def crontab_schedule(every: timedelta) -> str:
    """The five time fields of an interval that divides an hour."""
    minutes = every // _MINUTE
    first = {1: "*", 60: "0"}.get(minutes, f"*/{minutes}")
    return f"{first} * * * *"


def can_be_said(every: timedelta) -> bool:
    """True for an interval that a crontab can keep."""
    return every % _MINUTE == timedelta(0) and every // _MINUTE in EVERY_MINUTES


def nearest_every(every: timedelta) -> timedelta:
    """The interval nearest to ``every`` that can be said."""
    return min((minutes * _MINUTE for minutes in EVERY_MINUTES), key=lambda one: abs(one - every))
