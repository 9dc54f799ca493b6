"""What users of neighbouring tools reported of plans, locks, prompts and streams, each by its number, as an input for ours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.commands import LAB, NOW, SIMULATED, CommandLine
from support.plugin_kit import Plugin, plugin
from support.terminal import Session, environment_of, started
from support.world import World, workspace_yaml

from nodusctl.base.exits import ExitCode
from nodusctl.cli.output.heart import beating
from nodusctl.cli.output.progress_json import JsonProgress
from nodusctl.state.status import Phase

__all__ = ["plugin"]  # a fixture

CHANGED = LAB.replace("idleTimeout: 1h", "idleTimeout: 2h")


def eventually(look: Callable[[], bool], limit_seconds: float = 60) -> None:
    deadline = time.monotonic() + limit_seconds
    while not look():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.05)


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file below, the simulated cloud's own aside: its clock moves with any look."""
    found = [path for path in folder.rglob("*") if path.is_file() and "sim" not in path.relative_to(folder).as_posix()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


STRANGE = SIMULATED.replace("simulated", "strange")


@pytest.fixture
def crashing(empty_cli: CommandLine, plugin: Plugin) -> CommandLine:
    """A project whose simulated cloud is reached through a stranger's plugin; the test breaks it."""
    empty_cli.write("nodusctl.yaml", STRANGE)
    empty_cli.write("ws.yaml", LAB)
    assert empty_cli("sim", "init", "--now", NOW).code is ExitCode.DONE
    return empty_cli


def broken(plugin: Plugin, body: str) -> None:
    plugin.more = f"    def offers(self, query):\n        {body}\n"
    plugin.install()


# hashicorp/terraform#17066: a SIGTERM at the prompt, or while planning, leaves no empty file


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["SIGTERM", "SIGINT"])
def test_terraform_17066_a_signal_at_the_prompt_leaves_no_file_and_a_stream_that_says_why(cli: CommandLine, number: int, code: int) -> None:
    before = files_of(cli.folder)
    session = Session(cli, "apply", "--json-into", "stream.jsonl")
    session.read_until(lambda said: "[y/N]" in said)
    session.process.send_signal(number)
    assert session.end() == code
    after = files_of(cli.folder)
    stream = after.pop("stream.jsonl")
    assert after == before, "no state, no plan, no lock"
    assert json.loads(stream.splitlines()[-1])["code"] == code


def test_terraform_17066_a_signal_while_planning_leaves_no_plan_and_whole_reports(crashing: CommandLine, plugin: Plugin) -> None:
    """The provider hangs; what would be written at the end isn't there, and not as an empty file either."""
    broken(plugin, "import time; time.sleep(600)")
    before = files_of(crashing.folder)
    words = ("plan", "-o", "p.nodusplan", "--junit", "j.xml", "--json-into", "stream.jsonl")
    apart = replace(crashing, environment={"PYTHONPATH": str(plugin.site)})
    process = started(apart, *words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stream = crashing.folder / "stream.jsonl"
    eventually(lambda: stream.exists() and "heartbeat" in stream.read_text())
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == ExitCode.TERMINATED
    after = files_of(crashing.folder)
    assert json.loads(after.pop("stream.jsonl").splitlines()[-1])["name"] == "terminated"
    assert after.pop("j.xml").endswith(b"</testsuites>\n"), "a report is whole"
    assert after == before


# hashicorp/terraform#21785: a plan that was made with another state


def test_terraform_21785_a_plan_made_with_another_state_names_both(cli: CommandLine) -> None:
    config = (cli.folder / "nodusctl.yaml").read_text(encoding="utf-8")
    places = {name: f"sqlite:///.nodus/{name}.db" for name in ("first", "second")}

    def choose(name: str) -> None:
        cli.write("nodusctl.yaml", f"{config}state: {places[name]}\n")

    for name in places:
        choose(name)
        cli.write("ws.yaml", LAB.replace("name: lab,", f"name: {name},").replace("lab-home", f"{name}-home"))
        assert cli("apply", "--yes").code is ExitCode.DONE
    choose("first")
    cli.write("ws.yaml", CHANGED.replace("name: lab,", "name: first,").replace("lab-home", "first-home"))
    assert cli("plan", "-o", "p.nodusplan").code is ExitCode.DONE
    choose("second")
    calls = cli("sim", "calls", "--count").out
    ran = cli("apply", "p.nodusplan")
    assert ran.code is ExitCode.REFUSED
    assert "first.db" in ran.err and "second.db" in ran.err
    assert "stale" not in ran.err.lower() and "nodusctl plan" in ran.err
    assert cli("sim", "calls", "--count").out == calls, "no provider was asked for anything"
    choose("first")
    assert cli("apply", "p.nodusplan").code is ExitCode.DONE, "where it belongs it is still good"


# runatlantis/atlantis#1548: what an older revision of a branch held, when the object is no longer in the plan


def test_atlantis_1548_a_plan_of_an_older_revision_holds_nothing(cli: CommandLine) -> None:
    cli.write("ws.yaml", LAB)
    assert cli("plan", "-o", "older.nodusplan").code is ExitCode.DONE
    cli.write("ws.yaml", workspace_yaml("other", volume="", ephemeral=True))
    assert cli("plan", "-o", "newer.nodusplan").code is ExitCode.DONE
    ran = cli("apply", "newer.nodusplan")
    assert ran.code is ExitCode.DONE
    assert cli("get", "ws", "-o", "name").out == "workspace/other\n"


def test_atlantis_1548_a_claim_of_a_killed_older_revision_is_released_when_its_object_is_gone_from_the_files(cli: CommandLine) -> None:
    older, newer = (workspace_yaml(name, volume="", ephemeral=True) for name in ("older", "newer"))
    cli.write("ws.yaml", older)
    fault = ("--op", "create", "--match", "workspace/older", "--effect", "hang 10m", "--times", "1")
    assert cli("sim", "fault", "add", *fault).code is ExitCode.DONE
    process = started(cli, "apply", "--yes", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: cli("sim", "calls", "--op", "create", "--count").out == "1\n")
    process.kill()
    process.wait(60)
    cli.write("ws.yaml", newer)
    ran = cli("apply", "--yes", "--allow-deletes", "1")
    assert ran.code is ExitCode.DONE, ran.err + ran.out
    assert cli("get", "ws", "-o", "name").out == "workspace/newer\n"
    cli.write("ws.yaml", "---\n".join((older, newer)))
    assert cli("apply", "--yes").code is ExitCode.DONE, "and its name can be used again"
    assert cli("receipts", "--verify").code is ExitCode.DONE


# runatlantis/atlantis#3411: a provider plugin that crashes while a plan is made


def test_atlantis_3411_a_plugin_that_raises_while_a_plan_is_made_is_reported_and_holds_nothing(
    crashing: CommandLine, plugin: Plugin
) -> None:
    broken(plugin, 'raise KeyError("a bug of the plugin, with hf_abcdefghijklmnop in it")')
    before = files_of(crashing.folder)
    ran = crashing("plan")
    assert ran.code is ExitCode.BLOCKED, "the plan says that this provider isn't ready"
    assert "warning[PluginCrashed]" in ran.err
    (report,) = Path(os.environ["XDG_STATE_HOME"]).rglob("crash-*.txt")
    assert str(report) in ran.err.replace("\n", " ").replace("  ", "")
    text = report.read_text(encoding="utf-8")
    assert "nodus_strange/cloud.py" in text and "KeyError" in text and "nodusctl plan" in text
    assert "hf_abcdefghijklmnop" not in text + ran.err
    assert files_of(crashing.folder) == before
    as_json = [json.loads(line) for line in crashing("plan", "--json").out.splitlines()]
    assert [line["code"] for line in as_json if line["type"] == "diagnostic"].count("PluginCrashed") == 1
    broken(plugin, "return super().offers(query)")
    mended = crashing("plan")
    assert mended.code is ExitCode.DONE and "PluginCrashed" not in mended.err


def test_atlantis_3411_trouble_of_the_network_is_no_crash(crashing: CommandLine, plugin: Plugin) -> None:
    broken(plugin, 'raise ConnectionResetError("the platform hung up")')
    ran = crashing("plan")
    assert ran.code is ExitCode.BLOCKED
    assert "PluginCrashed" not in ran.err and not list(Path(os.environ["XDG_STATE_HOME"]).rglob("crash-*.txt"))


@pytest.mark.parametrize("words", [("plan",), ("apply", "--yes")], ids=" ".join)
def test_atlantis_3411_a_plugin_that_takes_the_process_with_it_leaves_no_lock(
    crashing: CommandLine, plugin: Plugin, words: tuple[str, ...]
) -> None:
    crashing.write("nodusctl.yaml", SIMULATED)
    assert crashing("apply", "--yes").code is ExitCode.DONE
    crashing.write("nodusctl.yaml", STRANGE)
    crashing.write("ws.yaml", CHANGED)
    broken(plugin, "import os; os.abort()")
    apart = replace(crashing, environment={"PYTHONPATH": str(plugin.site)})
    ran = started(apart, *words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert ran.wait(60) == -signal.SIGABRT
    crashing.write("nodusctl.yaml", SIMULATED)
    seen = crashing("plan")
    assert seen.code is ExitCode.DONE
    assert "lock" not in seen.err.lower()
    assert crashing("apply", "--yes").code is ExitCode.DONE
    assert crashing("receipts", "--verify").code is ExitCode.DONE


# terrakube-io/terrakube#815 and terraform-cdk#250: nobody there to ask


@pytest.mark.parametrize(
    "words", [("apply",), ("destroy",), ("delete", "ws/lab"), ("home", "restore", "lab", "--revision", "1")], ids=" ".join
)
@pytest.mark.parametrize("stdin", ["closed", "a pipe nobody writes to"])
def test_terrakube_815_without_a_terminal_it_fails_at_once_and_names_the_flag(cli: CommandLine, words: tuple[str, ...], stdin: str) -> None:
    """The pipe stays open and silent: a program that waited for an answer would wait for ever."""
    reading, writing = os.pipe()
    try:
        given = subprocess.DEVNULL if stdin == "closed" else reading
        process = started(cli, *words, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = process.communicate(timeout=60)
    finally:
        os.close(writing)
        os.close(reading)
    assert process.returncode == ExitCode.USAGE
    assert "--yes" in err and out == ""
    assert not (cli.folder / ".nodus" / "state.db").exists()
    assert cli("sim", "calls", "--op", "create", "--count").out == "0\n"


def test_terraform_cdk_250_as_json_too(cli: CommandLine) -> None:
    process = started(cli, "apply", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=60)
    lines = [json.loads(line) for line in out.splitlines()]
    assert (process.returncode, err, [line["type"] for line in lines]) == (ExitCode.USAGE, "", ["version", "diagnostic", "exit"])
    assert "--yes" in lines[1]["fix"]


# opentofu/opentofu#4107: heartbeats for the whole of a long create


class QuickWall:
    """A wall clock two hundred times as fast as this computer's."""

    def __init__(self) -> None:
        self._begun = time.monotonic()

    def monotonic(self) -> float:
        return (time.monotonic() - self._begun) * 200

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.monotonic())

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds / 200)


def test_opentofu_4107_heartbeats_go_on_for_the_whole_of_a_ten_minute_create(world: World) -> None:
    """One create call that takes 3 s of this computer is 10 minutes of the clock the stream goes by; a pulse comes each second of it."""
    world.write(workspace_yaml(volume="", ephemeral=True))
    world.fault("create", "hang 3s", times=1)
    wall, lines, lock = QuickWall(), list[tuple[float, str, dict[str, Any]]](), threading.Lock()

    def say(kind: str, fields: dict[str, Any]) -> None:
        with lock:
            lines.append((wall.monotonic(), kind, fields))

    with beating(JsonProgress(say, wall), period_seconds=1 / 200) as progress:
        assert world.apply(outside=world.outside(progress=progress)).exit_code is ExitCode.DONE
    assert world.status().phase is Phase.RUNNING
    reported = [number for number, (_, kind, _) in enumerate(lines) if kind == "progress"]
    during = lines[reported[0] : reported[-1] + 1]
    begun, length = during[0][0], during[-1][0] - during[0][0]
    assert length >= 600, "the create took ten minutes of that clock"
    beats = [(moment, fields) for moment, kind, fields in during if kind == "heartbeat"]
    assert all([one["address"] for one in fields["waiting"]] == ["workspace/lab"] for _, fields in beats)
    assert {int(4 * (moment - begun) / length) for moment, _ in beats} >= {0, 1, 2, 3}, "from its beginning to its end"


def test_opentofu_4107_the_real_program_says_what_it_waits_for(cli: CommandLine) -> None:
    cli.write("ws.yaml", workspace_yaml(volume="", ephemeral=True))
    assert cli("sim", "fault", "add", "--op", "create", "--effect", "hang 12s", "--times", "1").code is ExitCode.DONE
    process = subprocess.run(
        [sys.executable, "-m", "nodusctl", "apply", "--yes", "--json"],
        cwd=cli.folder,
        env=environment_of(cli),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0
    beats = [line for line in map(json.loads, process.stdout.splitlines()) if line["type"] == "heartbeat"]
    assert beats and beats[-1]["waiting"][0]["address"] == "workspace/lab"
