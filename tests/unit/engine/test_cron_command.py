"""The tick's command as a shell, a crontab and systemd read it."""

from __future__ import annotations

import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from nodusctl.engine.cron_command import EVERY_MINUTES, TickCommand, can_be_said, crontab_line, crontab_schedule, nearest_every
from nodusctl.engine.cron_units import service_text, timer_text, unit_name

MINUTE = timedelta(minutes=1)
ODD = Path('/srv/it\'s 50% $HOME "lab"')


def command(*program: str) -> TickCommand:
    return TickCommand(program=program or ("/opt/nodusctl",), folder=ODD, variables={"XDG_DATA_HOME": "/home/a b"})


@pytest.mark.parametrize("minutes", EVERY_MINUTES)
def test_every_interval_that_can_be_said_comes_at_even_distances(minutes: int) -> None:
    field = crontab_schedule(minutes * MINUTE).partition(" ")[0]
    step = {"*": 1, "0": 60}.get(field) or int(field.removeprefix("*/"))
    assert step == minutes
    assert 60 % minutes == 0


@pytest.mark.parametrize("every", [timedelta(seconds=30), 7 * MINUTE, 90 * MINUTE, timedelta(0), timedelta(seconds=90)])
def test_an_interval_a_crontab_cannot_keep_is_not_said(every: timedelta) -> None:
    assert not can_be_said(every)
    assert can_be_said(nearest_every(every))


def test_a_shell_hands_the_words_on_whatever_the_folder_is_called() -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", command("printf", "%s\\n").shell()], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines() == ["--chdir", str(ODD), "tick", "--quiet"]


def test_a_percent_sign_is_escaped_in_a_crontab_where_it_would_end_the_command() -> None:
    line = crontab_line(command(), 5 * MINUTE)
    assert "\\%" in line
    assert "%" not in line.replace("\\%", "")
    assert line.replace("\\%", "%") == f"*/5 * * * * {command().shell()}"


def test_a_unit_leaves_the_machines_that_a_pass_started_alone() -> None:
    assert "KillMode=process" in service_text(command()).splitlines()


def test_a_unit_quotes_what_systemd_would_expand() -> None:
    start = next(line for line in service_text(command()).splitlines() if line.startswith("ExecStart="))
    assert '"/srv/it\'s 50%% $$HOME \\"lab\\""' in start
    assert start.endswith('"tick" "--quiet"')


def test_a_timer_keeps_the_same_intervals_as_a_crontab() -> None:
    assert "OnCalendar=*:0/5" in timer_text(ODD, 5 * MINUTE)
    assert "OnCalendar=hourly" in timer_text(ODD, 60 * MINUTE)


def test_each_project_has_a_unit_of_its_own() -> None:
    assert unit_name(ODD) != unit_name(Path("/srv/lab"))
