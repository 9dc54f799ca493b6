"""``notify``: a person is told of four happenings, each once, and whatever the command does the tick is as it would have been."""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.world import HOME_YAML, LAB, World, workspace_yaml

from nodusctl.base.exits import ExitCode
from nodusctl.base.money import Money
from nodusctl.base.redaction import REDACTOR
from nodusctl.engine.notice_command import NoticeCommand
from nodusctl.engine.passes import TickResult
from nodusctl.engine.ticking import tick
from nodusctl.executor.runs import Interrupts
from nodusctl.lifecycle.situation import Rules
from nodusctl.provider.agent import AgentCommand, AgentRequest
from nodusctl.state.status import Phase

MINUTE = timedelta(minutes=1)


@dataclass
class Heard:
    """Somebody who is told; with ``fault`` it takes nothing."""

    documents: list[dict[str, Any]] = field(default_factory=list)
    fault: str = ""
    offered: int = 0

    def __call__(self, document: str) -> str:
        self.offered += 1
        if not self.fault:
            self.documents.append(json.loads(document))
        return self.fault

    @property
    def kinds(self) -> list[tuple[str, str]]:
        return [(one["kind"], one["about"]) for one in self.documents]


def ticked(world: World, notify: Callable[[str], str], times: int = 1, every: timedelta = 5 * MINUTE) -> TickResult:
    """``nodusctl tick`` of a project with a notify command."""
    for number in range(times):
        if number:
            world.pass_time(every)
        outside = world.outside()
        result = tick(lambda given=outside: given, world.ticker(outside, notify=notify), Interrupts())  # type: ignore[misc]
    return result


@pytest.fixture
def heard() -> Heard:
    return Heard()


def running(world: World, **spec: Any) -> World:
    world.write(HOME_YAML, workspace_yaml(**{"idleTimeout": "0s", **spec}))
    assert world.apply().exit_code is ExitCode.DONE
    return world


def asked_to_stop(world: World) -> World:
    world.stop(timeout=timedelta(seconds=1))
    assert world.status().phase is Phase.STOPPING
    return world


def test_a_good_life_tells_nothing(world: World, heard: Heard) -> None:
    running(world)
    ticked(world, heard, 5)
    world.stop()
    ticked(world, heard, 3)
    assert heard.offered == 0


def test_a_release_that_is_not_confirmed_after_its_bound_is_told_once(world: World, heard: Heard) -> None:
    running(world)
    world.fault("delete", "error Unavailable")
    asked_to_stop(world)
    ticked(world, heard)
    assert heard.kinds == [], "within its bound a stop is no news"
    world.pass_time(10 * MINUTE)
    ticked(world, heard, 6)
    assert heard.kinds == [("StopFailed", "workspace/lab")]
    assert world.attempt().machine is not None
    assert world.attempt().machine.id in heard.documents[0]["detail"]  # type: ignore[union-attr]
    world.heal()
    world.pass_time(15 * MINUTE)
    ticked(world, heard, 3)
    assert (world.status().phase, len(heard.documents)) == (Phase.STOPPED, 1)


def test_a_save_that_is_given_up_is_told_once_and_the_next_one_again(world: World, heard: Heard) -> None:
    running(world)
    for count in (1, 2):
        world.fault("save", "error Unavailable")
        world.stop()
        ticked(world, heard, 4)
        assert heard.kinds == [("StopFailed", "workspace/lab")] * count
        assert "disk newer than revision" in heard.documents[-1]["detail"]
        world.heal()
        world.start()
        ticked(world, heard, 2)
        world.stop()
        assert world.condition("StateSaved") == "True"
        world.start()


def test_a_cap_that_holds_tells_nothing(world: World, heard: Heard) -> None:
    running(world, maxCostUSD="0.05")
    world.pass_time(timedelta(hours=3))
    ticked(world, heard, 4)
    assert (world.status().stop_reason, heard.kinds) == ("MaxCostReached", [])


def test_a_cap_that_the_platform_breaks_is_told_once(world: World, heard: Heard) -> None:
    """Here it forgets the edge it had armed."""
    running(world, maxCostUSD="0.50")
    world.cloud.ask_agent(world.machines()[0].id, AgentRequest(command=AgentCommand.RENEW, edge_seconds=6 * 3600))
    world.pass_time(timedelta(hours=4))
    ticked(world, heard, 5)
    assert world.status().phase is Phase.STOPPED
    assert heard.kinds == [("CapOverrun", "workspace/lab")]
    over = world.charged() - Money.parse("0.50")
    assert over.shown in heard.documents[0]["detail"]


def test_a_budget_that_comes_to_a_threshold_is_told_once_for_each_of_them(world: World, heard: Heard) -> None:
    """$0.20 an hour and a hold for the whole lease of 8 hours: $1.60 of $2.00 from the first moment."""
    budget = 'apiVersion: nodus.dev/v1\nkind: Budget\nmetadata: {name: team}\nspec: {limitUSD: "2.00", action: Notify}\n'
    world.write(HOME_YAML, workspace_yaml(idleTimeout="0s"), budget)
    assert world.apply().exit_code is ExitCode.DONE
    ticked(world, heard, 3)
    assert heard.kinds == [("ThresholdCrossed", "budget/team")] * 2
    assert [one["summary"] for one in heard.documents] == ["A Budget has come to 50 %.", "A Budget has come to 80 %."]
    assert heard.documents[0]["detail"].endswith("of $2.00 are spent or held (2026-03).")
    world.pass_time(timedelta(hours=5))
    ticked(world, heard, 3)
    assert [one["summary"] for one in heard.documents[2:]] == ["A Budget has come to 100 %."]


def test_a_refused_account_is_told_once_until_it_was_mended(world: World, heard: Heard) -> None:
    running(world)
    world.fault("get", "error Unauthorized scope account")
    ticked(world, heard, 4)
    assert heard.kinds == [("CredentialsRefused", "sim")]
    world.heal()
    ticked(world, heard, 2)
    world.fault("get", "error Unauthorized scope account")
    ticked(world, heard, 4)
    assert heard.kinds == [("CredentialsRefused", "sim")] * 2


def test_an_account_that_is_refused_at_a_start_is_told_too(world: World, heard: Heard) -> None:
    world.write(HOME_YAML, workspace_yaml())
    world.fault("create", "error Unauthorized scope account")
    world.apply(timeout=timedelta(seconds=1))
    ticked(world, heard, 4)
    assert heard.kinds == [("CredentialsRefused", "sim")]


def test_a_session_that_is_lost_once_more_than_it_may_be_recovered_is_told(tmp_path: Path, heard: Heard) -> None:
    world = running(World(tmp_path / "project", rules=Rules(recoveries_per_session=1)))
    for _ in range(2):
        world.cloud.kill(world.machines()[0].id)
        ticked(world, heard, 3, MINUTE)
    assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "Interrupted")
    ticked(world, heard, 3)
    assert heard.kinds == [("RecoveryUsedUp", "workspace/lab")]


def test_what_the_command_does_not_take_is_a_warning_and_offered_again(world: World, heard: Heard) -> None:
    running(world)
    world.fault("get", "error Unauthorized scope account")
    heard.fault = "it is on strike"
    assert ticked(world, heard).unsent == ("CredentialsRefused of sim: it is on strike",)
    heard.fault = ""
    assert ticked(world, heard).unsent == ()
    assert heard.kinds == [("CredentialsRefused", "sim")]


def test_a_command_that_raises_breaks_no_tick(world: World) -> None:
    running(world)
    world.fault("get", "error Unauthorized scope account")

    def raising(document: str) -> str:
        raise RuntimeError("out of order")

    assert ticked(world, raising).unsent == ("RuntimeError: out of order",)
    assert len(world.state.passes.latest()) == 1


def test_a_second_process_knows_what_the_first_one_told(world: World, heard: Heard) -> None:
    running(world)
    world.fault("get", "error Unauthorized scope account")
    ticked(world, heard)
    ticked(world.again(), heard)
    assert len(heard.documents) == 1


def test_secrets_are_never_in_a_notice(world: World, heard: Heard) -> None:
    running(world)
    REDACTOR.remember("correct-horse")
    world.fault("get", "error Unauthorized scope account message the token correct-horse is no good")
    ticked(world, heard)
    assert "correct-horse" not in json.dumps(heard.documents)
    assert "[redacted]" in heard.documents[0]["detail"]


def script(folder: Path, text: str) -> Path:
    path = folder / "told.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def command(folder: Path, *words: str, limit_seconds: float = 10) -> NoticeCommand:
    return NoticeCommand(words=words, folder=folder, environment={"PATH": "/usr/bin:/bin"}, limit_seconds=limit_seconds)


def test_the_command_runs_in_the_project_with_the_document_on_its_stdin(tmp_path: Path) -> None:
    script(tmp_path, 'cat > "$1"')
    assert command(tmp_path, "./told.sh", "heard.json")('{"kind": "StopFailed"}\n') == ""
    assert (tmp_path / "heard.json").read_text() == '{"kind": "StopFailed"}\n'


def test_a_command_that_fails_says_so_with_its_own_words(tmp_path: Path) -> None:
    script(tmp_path, "echo no route to anybody >&2; exit 3")
    assert command(tmp_path, "./told.sh")("{}\n") == "./told.sh ended with exit code 3. no route to anybody"


def test_a_command_that_is_not_there_says_so(tmp_path: Path) -> None:
    assert command(tmp_path, "./missing")("{}\n") == "./missing can't be run: No such file or directory"


def test_a_command_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    script(tmp_path, "sleep 60 & echo $! > child; wait")
    begun = time.monotonic()
    fault = command(tmp_path, "./told.sh", limit_seconds=3)("{}\n")
    assert "longer than 3 seconds" in fault
    assert time.monotonic() - begun < 30
    child = int((tmp_path / "child").read_text())
    assert _is_over(child)


def _is_over(pid: int) -> bool:
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.1)
    return False


def test_the_notice_names_project_time_and_fix(world: World, heard: Heard) -> None:
    running(world)
    world.fault("get", "error Unauthorized scope account")
    ticked(world, heard)
    document = heard.documents[0]
    assert (document["format"], document["project"], document["host"], document["fix"]) == (1, "default", "test", "nodusctl doctor sim")
    assert document["time"].startswith("2026-03-02T09:")
    assert str(LAB) not in document["about"]
