"""What a tick could not do it says, of which object, and what that costs meanwhile; what only takes its time is no fault."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from support.commands import CommandLine
from support.world import HOME_YAML, LAB, World, workspace_yaml

from nodusctl.base.exits import ExitCode
from nodusctl.engine.passes import TickResult
from nodusctl.render.style import Style
from nodusctl.render.ticks import advance_text, tick_diagnostics, tick_document, tick_text
from nodusctl.state.status import Phase

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
NO_DELETE = "error Unavailable message it hangs there"


def said(result: TickResult) -> str:
    return tick_text(result, Style())


def codes(result: TickResult) -> list[tuple[str, str]]:
    return [(str(one.severity), one.code) for one in tick_diagnostics(result)]


def test_a_renewal_that_is_open_on_a_machine_that_does_not_answer_is_said_and_the_pass_is_good(running: World) -> None:
    running.pass_time(5 * HOUR)
    running.fault("agent", "unreachable", "workspace/lab")
    for _ in range(2):
        result = running.tick()
        assert said(result).startswith("! workspace/lab  Running  NodeUnreachable: the machine runs and doesn't answer: ")
        assert said(result).endswith("; its renew stays open")
        assert codes(result) == [("warning", "NodeUnreachable")]
        assert (result.exit_code, result.failures) == (ExitCode.DONE, {})
        assert len(running.state.journal.open_intents()) == 1
        running.pass_time(MINUTE)
    running.heal()
    assert said(running.tick()) == "Nothing is due; 1 object looked at."
    assert running.state.journal.open_intents() == ()


def test_a_release_that_fails_makes_a_bad_pass_and_says_the_rate_each_time(running: World) -> None:
    running.fault("delete", NO_DELETE)
    running.stop(timeout=timedelta(0))
    for _ in range(3):
        running.pass_time(MINUTE)
        result = running.tick()
        line = said(result)
        assert line.startswith("! workspace/lab  Stopping  ProviderNotReady: ")
        assert "it hangs there" in line and "it still costs $0.20/h (machine i-" in line
        assert result.exit_code is ExitCode.ERROR and list(result.failures or {}) == ["workspace/lab"]
        assert codes(result) == [("error", "ProviderNotReady")]
    assert not running.state.passes.latest()[0].is_good
    running.heal()
    assert running.tick().exit_code is ExitCode.DONE
    running.tick(times=4, every=MINUTE)
    assert running.status().phase is Phase.STOPPED


def test_a_stop_says_the_rate_of_what_it_could_not_end(running: World) -> None:
    running.fault("delete", NO_DELETE)
    (outcome,) = running.stop().outcomes
    assert not outcome.is_ok and "it still costs $0.20/h (machine i-" in outcome.message


def test_a_release_that_takes_its_time_is_no_fault_until_its_bound_is_over(tmp_path: Path) -> None:
    slow = World(tmp_path / "project", world="times: {release: 20m, stopBound: 1m}\n")
    slow.write(HOME_YAML, workspace_yaml(idleTimeout="0s"))
    slow.apply()
    slow.stop(timeout=timedelta(0))
    slow.pass_time(MINUTE)
    slow.tick()
    result = slow.tick()
    assert (result.exit_code, codes(result)) == (ExitCode.DONE, [])
    assert [(one.address, one.phase, one.waits_for) for one in result.waiting] == [(LAB, "Stopping", "waiting for the machine to end")]
    slow.pass_time(10 * MINUTE)
    late = slow.tick()
    assert late.exit_code is ExitCode.ERROR
    assert "; it should have been gone by 2026-03-02 " in said(late) and "it still costs $0.20/h (machine i-" in said(late)
    slow.tick(times=6, every=5 * MINUTE)
    assert slow.status().phase is Phase.STOPPED


def test_a_running_machine_that_does_not_answer_is_said_though_nothing_is_due(running: World) -> None:
    running.fault("get", "unreachable", "workspace/lab")
    running.pass_time(MINUTE)
    result = running.tick()
    assert said(result).startswith("  workspace/lab  Running  its machine doesn't answer: ")
    assert (result.exit_code, codes(result), len(running.machines())) == (ExitCode.DONE, [], 1)


def test_several_passes_told_together_say_a_trouble_once(running: World) -> None:
    running.fault("delete", NO_DELETE)
    running.stop(timeout=timedelta(0))
    results = []
    for _ in range(4):
        running.pass_time(MINUTE)
        results.append(running.tick())
    lines = advance_text(results, running.clock.now(), Style()).splitlines()
    assert [line.partition("  ! ")[2].partition(":")[0] for line in lines[:-1]] == ["workspace/lab  Stopping  ProviderNotReady"]
    assert lines[-1].startswith("4 ticks, 4 with failures")


def test_a_machine_that_boots_is_waited_for_and_that_is_said(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml(state="Stopped"))
    world.apply()
    world.write(HOME_YAML, workspace_yaml())
    world.apply(timeout=timedelta(0))
    world.tick()
    result = world.tick()
    assert said(result) == "  workspace/lab  Starting  waiting for the machine to boot"
    assert tick_document(result)["waiting"] == [
        {"address": "workspace/lab", "phase": "Starting", "waitsFor": "waiting for the machine to boot"}
    ]
    assert (result.exit_code, result.moved, codes(result)) == (ExitCode.DONE, (), [])


def test_a_launch_whose_outcome_nobody_can_tell_makes_a_bad_pass(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    world.fault("create", "accept-then-drop", times=1)
    world.fault("find", "error Unauthorized scope account")
    world.apply(timeout=timedelta(seconds=1))
    world.pass_time(MINUTE)
    result = world.tick()
    assert said(result).startswith("! workspace/lab  Pending  IntentUnsettled: asking again what became of the launch: Unauthorized")
    assert result.exit_code is ExitCode.ERROR
    world.heal()
    world.tick(times=3, every=MINUTE)
    assert world.status().phase is Phase.RUNNING and world.count("create") == 1


def test_under_cron_what_goes_well_is_silent_and_a_release_that_fails_is_not(cli: CommandLine) -> None:
    assert cli("apply", "--yes").code is ExitCode.DONE
    cli("sim", "fault", "add", "--op", "delete", "--effect", NO_DELETE)
    cli("stop", "lab", "--timeout", "0s")
    ran = cli("tick", "--quiet")
    assert (ran.code, ran.out) == (ExitCode.ERROR, "")
    assert "it still costs $0.20/h" in ran.err
    cli("sim", "fault", "clear")
    for _ in range(3):
        cli("sim", "advance", "1m")
        ran = cli("tick", "--quiet")
        assert (ran.code, ran.out, ran.err) == (ExitCode.DONE, "", "")
