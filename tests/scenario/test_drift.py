"""Drift is told by what differs, and nothing is written."""

from __future__ import annotations

import json
from datetime import timedelta

from support.commands import LAB as LAB_YAML
from support.commands import CommandLine
from support.outside_changes import MINUTE, drift, kinds, launch_another
from support.world import World

from nodusctl.base.exits import ExitCode
from nodusctl.lifecycle.differing import DriftKind
from nodusctl.provider.requests import DetachRequest, GrowRequest
from nodusctl.state.status import Phase


class TestDrift:
    def test_nothing_differs_after_an_apply_and_nothing_is_written(self, cli: CommandLine) -> None:
        assert cli("apply", "--yes").code is ExitCode.DONE
        state = cli.folder / ".nodus" / "state.db"
        before = (state.read_bytes(), state.stat().st_mtime_ns)
        assert cli("drift").code is ExitCode.DONE
        assert (state.read_bytes(), state.stat().st_mtime_ns) == before

    def test_a_changed_file_is_no_drift(self, cli: CommandLine) -> None:
        cli("apply", "--yes")
        cli.write("ws.yaml", LAB_YAML.replace("memory: 16Gi", "memory: 30Gi"))
        assert cli("drift").code is ExitCode.DONE

    def test_a_machine_that_is_gone_is_told_with_the_time_it_was_last_seen(self, running: World) -> None:
        running.pass_time(10 * MINUTE)
        running.tick()
        seen_at = running.state.passes.latest(1)[0].started_at
        running.pass_time(10 * MINUTE)
        running.fault("get", "gone", "workspace/lab")
        (one,) = drift(running).differences
        assert one.kind is DriftKind.MACHINE_GONE
        assert f"last seen {seen_at:%Y-%m-%dT%H:%M:%S}Z" in one.message

    def test_a_machine_just_made_that_lists_don_t_show_yet_is_due_and_not_gone(self, running: World) -> None:
        running.fault("get", "gone", "workspace/lab")
        report = drift(running)
        assert report.differences == ()
        assert [str(one.address) for one in report.due] == ["workspace/lab"]

    def test_a_machine_whose_host_died_has_ended_although_its_session_should_run(self, running: World) -> None:
        running.cloud.kill(running.machines()[0].id)
        assert kinds(running) == [DriftKind.MACHINE_ENDED]

    def test_a_machine_that_ended_at_its_own_edge_is_due_and_no_drift(self, running: World) -> None:
        running.pass_time(timedelta(hours=9))
        report = drift(running)
        assert report.differences == ()
        assert "LeaseEnded" in report.due[0].message
        assert report.exit_code is ExitCode.DONE

    def test_a_machine_that_runs_although_the_record_says_stopped(self, running: World) -> None:
        machine = running.machines()[0]
        running.stop()
        launch_another(running, machine, "nodus-stray")
        assert kinds(running) == [DriftKind.RUNNING_THOUGH_STOPPED]

    def test_a_second_machine_beside_the_current_one_is_a_duplicate(self, running: World) -> None:
        launch_another(running, running.machines()[0], "nodus-second")
        assert kinds(running) == [DriftKind.DUPLICATE]

    def test_other_hardware_is_told_by_each_property(self, running: World) -> None:
        running.cloud.resize(running.machines()[0].id, "cpu-8c-32g-us")
        report = drift(running)
        assert [(one.what, one.expected, one.found) for one in report.differences] == [
            ("type", "sim.c4", "sim.c8"),
            ("cpu", "4", "8"),
            ("memory", "16Gi", "32Gi"),
        ]
        assert report.exit_code is ExitCode.DRIFT

    def test_other_hardware_is_still_told_after_a_pass_has_looked_at_the_machine(self, running: World) -> None:
        running.cloud.resize(running.machines()[0].id, "cpu-8c-32g-us")
        running.pass_time(10 * MINUTE)
        running.tick()
        assert set(kinds(running)) == {DriftKind.SHAPE_CHANGED}

    def test_an_edge_that_was_moved_by_somebody_else(self, running: World) -> None:
        from nodusctl.provider.agent import AgentCommand, AgentRequest

        machine = running.machines()[0]
        running.cloud.ask_agent(machine.id, AgentRequest(command=AgentCommand.RENEW, edge_seconds=40 * 3600))
        assert kinds(running) == [DriftKind.EDGE_NOT_AS_ARMED]

    def test_missing_tags_are_named(self, running: World) -> None:
        machine = running.machines()[0]
        running.cloud.retag(machine.id, {name: text for name, text in machine.tags.items() if name != "nodus-owner"})
        (one,) = drift(running).differences
        assert one.kind is DriftKind.TAGS_MISSING
        assert "nodus-owner" in one.message

    def test_a_disk_that_is_detached_grown_or_gone(self, running: World) -> None:
        disk, machine = running.home().disk_id, running.machines()[0].id
        running.cloud.grow(GrowRequest(token="nodus-grow", disk_id=disk, size_bytes=2 * 2**30))
        assert kinds(running) == [DriftKind.DISK_SIZE_CHANGED]
        running.cloud.detach(DetachRequest(token="nodus-detach", machine_id=machine, disk_id=disk))
        assert kinds(running) == [DriftKind.DISK_DETACHED, DriftKind.DISK_SIZE_CHANGED]
        running.fault("get", "gone", "volume/home")
        assert kinds(running) == [DriftKind.DISK_GONE]

    def test_what_can_t_be_read_is_unreadable_and_never_gone(self, running: World) -> None:
        running.pass_time(10 * MINUTE)
        running.fault("get", "forbidden", "workspace/lab")
        assert kinds(running) == [DriftKind.UNREADABLE]
        running.tick()
        assert running.status().phase is Phase.RUNNING

    def test_values_that_change_by_themselves_are_no_drift(self, running: World) -> None:
        running.fault("get", "noise")
        running.fault("list", "noise")
        assert kinds(running) == []

    def test_a_silent_provider_is_exit_1_and_drift_found_elsewhere_wins(self, cli: CommandLine) -> None:
        two = "project: lab\nproviders:\n  sim: {type: simulated, world: world.yaml}\n  other: {type: simulated, world: other.yaml}\n"
        cli("apply", "--yes")
        cli.write("nodusctl.yaml", two)
        cli("sim", "fault", "add", "--provider", "other", "--op", "list", "--effect", "error Unavailable message down")
        silent = cli("drift")
        assert silent.code is ExitCode.ERROR
        assert "Provider other: Unavailable down" in silent.err
        cli("sim", "resize", "i-000001", "cpu-8c-32g-us", "--provider", "sim")
        both = cli("drift", "--json")
        assert both.code is ExitCode.DRIFT
        result = next(line for line in map(json.loads, both.out.splitlines()) if line["type"] == "result")
        assert [one["what"] for one in result["drift"]] == ["type", "cpu", "memory"]
        assert list(result["failures"]) == ["other"]
