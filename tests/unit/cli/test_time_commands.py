"""start, stop, extend, get and describe with windows, as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commands import SIMULATED, CommandLine

from nodusctl.base.exits import ExitCode

LAB = """apiVersion: nodus.dev/v1
kind: Workspace
metadata: {name: lab, annotations: {nodus.dev/windows: "Mon-Fri 09:00-17:00 Europe/Madrid"}}
spec: {image: nodus/workspace-cpu, resources: {cpu: 4, memory: 16Gi}, ephemeral: true, tools: [SSH], idleTimeout: 0s}
"""


@pytest.fixture
def office(tmp_path: Path) -> CommandLine:
    """lab runs in its Monday window, in Madrid."""
    line = CommandLine(tmp_path)
    line.write("nodusctl.yaml", SIMULATED)
    line.write("lab.yaml", LAB)
    assert line("sim", "init", "--now", "2026-10-26T07:30:00Z").code is ExitCode.DONE
    assert line("apply", "--yes").code is ExitCode.DONE
    assert line("sim", "advance", "45m", "--tick", "15m").code is ExitCode.DONE
    return line


def test_the_wide_table_shows_the_next_start_and_when_it_stops(office: CommandLine) -> None:
    head, row = office("get", "ws", "-o", "wide").out.splitlines()
    assert "NEXT START" in head and "STOPS BY" in head
    assert "2026-10-27T07:45:00Z" in row and "2026-10-26T15:45:00Z" in row, "tomorrow's window, and the lease that a tick renews"


def test_an_extension_says_the_new_end_and_its_cost_in_text_and_in_json(office: CommandLine) -> None:
    ran = office("extend", "lab", "2h")
    assert ran.code is ExitCode.DONE
    said = (
        "lab now stops at Mon 26 Oct 19:00 Europe/Madrid (2026-10-26T18:00:00Z) instead of 2026-10-26T16:00:00Z: $0.40 more, at most $0.40."
    )
    assert said in ran.out
    documents = [json.loads(line) for line in office("extend", "lab", "30m", "--json").out.splitlines()]
    (told,) = [one for one in documents if "until" in one]
    assert (told["until"], told["extraUSD"], told["atMostUSD"]) == ("2026-10-26T18:30:00Z", "0.10", "0.10")


def test_an_extension_by_nothing_is_a_usage_error(tmp_path: Path) -> None:
    assert CommandLine(tmp_path)("extend", "lab", "0s").code is ExitCode.USAGE
    assert CommandLine(tmp_path)("extend", "lab", "soon").code is ExitCode.USAGE


def test_a_stop_says_when_the_next_window_opens_and_a_parked_one_what_lets_it(office: CommandLine) -> None:
    stopped = office("stop", "lab")
    assert stopped.code is ExitCode.DONE
    assert "The next window of lab opens Tue 27 Oct 09:00 Europe/Madrid (2026-10-27T08:00:00Z)" in stopped.err
    assert office("get", "ws/lab", "-o", "jsonpath={.spec.state}").out.strip() == "Running"
    parked = office("stop", "lab", "--park")
    assert "lab is parked: its windows start nothing until:\n  nodusctl start lab" in parked.err
    assert office("get", "ws/lab", "-o", "jsonpath={.spec.state} {.status.reason}").out.strip() == "Stopped Parked"
    assert "Next openings:  none, Parked" in office("describe", "ws/lab").out
    started = office("start", "lab")
    assert "lab stops by Mon 26 Oct" in started.err


def test_describe_says_when_it_stops_what_is_armed_and_what_opens_next(office: CommandLine) -> None:
    text = office("describe", "ws/lab").out
    assert "Stops by:       Mon 26 Oct 16:45 Europe/Madrid (2026-10-26T15:45:00Z): its lease ends, unless a tick renews it before" in text
    assert "Armed until:    2026-10-26T15:45:00Z, as read back from its machine" in text
    assert (
        "Next openings:  Tue 27 Oct 09:00-17:00 Europe/Madrid (2026-10-27T08:00:00Z/2026-10-27T16:00:00Z), its machine 15m before" in text
    )
