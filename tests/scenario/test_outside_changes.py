"""What happens behind the record's back: drift is told and nothing written; orphans are priced, ended, adopted; records forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.commands import LAB as LAB_YAML
from support.commands import CommandLine
from support.world import HOME, HOME_YAML, LAB, World, workspace_yaml

from nodusctl.attempts.events import Remarked
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.engine import adopting, forgetting, taking_up
from nodusctl.engine.applying import ApplySettings, resume
from nodusctl.engine.declaring import declare_dead
from nodusctl.engine.deleting_orphans import Deletion, delete_orphan, plan_deletion
from nodusctl.engine.drifting import DriftReport, find_drift
from nodusctl.engine.offer_rates import OfferRates
from nodusctl.engine.orphans import Group, OrphanReport, find_orphans
from nodusctl.executor.runs import Interrupts
from nodusctl.lifecycle.differing import DriftKind
from nodusctl.provider.machines import Machine
from nodusctl.provider.replies import Done
from nodusctl.provider.requests import DetachRequest, GrowRequest, LaunchRequest
from nodusctl.state.status import Phase

MINUTE, NO_TIME = timedelta(minutes=1), timedelta(0)


@pytest.fixture
def running(world: World) -> Iterator[World]:
    """A running Workspace that is never idle, with its home."""
    world.write(HOME_YAML, workspace_yaml(idleTimeout="0s"))
    world.apply()
    yield world
    world.close()


def drift(world: World) -> DriftReport:
    return find_drift(journal=world.state.journal, passes=world.state.passes, providers=world.providers, now=world.clock.now())


def kinds(world: World) -> list[DriftKind]:
    return [one.kind for one in drift(world).differences]


def rates(world: World) -> OfferRates:
    return OfferRates(world.providers, world.prices, {})


def orphans(world: World) -> OrphanReport:
    return find_orphans(journal=world.state.journal, providers=world.providers, rates=rates(world), now=world.clock.now())


def delete(world: World, thing: str, state_id: str = "") -> Deletion:
    one = plan_deletion(thing, orphans(world), state_id)
    return delete_orphan(one, outside=world.outside(), command="test", lock_timeout=NO_TIME, timeout=30 * MINUTE)


def adopt(world: World, thing: str, *, state_id: str = "", wanted: Address | None = None) -> None:
    plan = adopting.plan_adoption(thing, orphans(world), state_id=state_id, wanted=wanted, journal=world.state.journal)
    outside = world.outside()
    taking_up.adopt(plan, outside=outside, command="test", lock_timeout=NO_TIME)
    resume(outside, (plan.address,), ApplySettings(), Interrupts())


def forget(world: World, address: Address = LAB, *, even_if_running: bool = False) -> forgetting.Forgetting:
    plan = forgetting.plan_forgetting(
        address, journal=world.state.journal, rates=rates(world), now=world.clock.now(), even_if_running=even_if_running
    )
    forgetting.forget(plan, outside=world.outside(), command="test", lock_timeout=NO_TIME)
    return plan


def refusal(act: Any, *arguments: Any, **named: Any) -> str:
    """The code of the refusal."""
    with pytest.raises(UserError) as problem:
        act(*arguments, **named)
    return problem.value.diagnostics[0].code


def launch_another(world: World, machine: Machine, token: str, **tags: str) -> Machine:
    """A second machine with the same tags, as a create that was sent twice makes it."""
    request = LaunchRequest(
        token=token,
        name=machine.name,
        offer_id=machine.offer_id,
        instance_type=machine.instance_type,
        zone=machine.zone,
        is_interruptible=False,
        image="",
        boot="",
        edge_seconds=8 * 3600,
        tags={**machine.tags, **tags},
    )
    reply = world.cloud.launch(request)
    assert isinstance(reply, Done)
    return reply.value


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


class TestOrphans:
    def test_nothing_of_a_running_session_is_an_orphan(self, running: World) -> None:
        running.pass_time(20 * MINUTE)
        assert orphans(running).orphans == ()

    def test_a_machine_without_a_record_is_ours_with_its_cost_so_far_and_a_day(self, running: World) -> None:
        machine = running.machines()[0]
        running.pass_time(timedelta(hours=1) - (running.clock.now() - machine.created_at))
        forget(running, even_if_running=True)
        (one,) = orphans(running).of(Group.OURS)
        assert (one.id, one.cost_usd, one.day_usd) == (machine.id, Money.parse("0.20"), Money.parse("4.80"))

    def test_what_is_younger_than_15_minutes_is_being_made_and_can_t_be_deleted(self, running: World) -> None:
        machine = running.machines()[0]
        running.stop()
        stray = launch_another(running, machine, "nodus-stray")
        assert [one.id for one in orphans(running).of(Group.BEING_MADE)] == [stray.id]
        assert refusal(delete, running, stray.id) == "IntentUnsettled"
        running.pass_time(16 * MINUTE)
        assert [one.id for one in orphans(running).of(Group.OURS)] == [stray.id]

    def test_a_machine_with_an_open_intent_is_being_made_however_old(self, world: World) -> None:
        world.write(HOME_YAML, workspace_yaml())
        world.fault("create", "accept-then-drop")
        world.fault("find", "error Unavailable")
        world.apply()
        world.pass_time(timedelta(hours=2))
        assert [one.group for one in orphans(world).orphans] == [Group.BEING_MADE]

    def test_another_state_s_machine_is_shown_with_its_owner_and_needs_its_state_id(self, running: World) -> None:
        machine = running.machines()[0]
        theirs = launch_another(running, machine, "nodus-theirs", **{"nodus-state": "other-state", "nodus-owner": "bob@there"})
        running.pass_time(20 * MINUTE)
        (one,) = orphans(running).of(Group.FOREIGN)
        assert (one.owner.state_id, one.owner.project, one.owner.owner) == ("other-state", "default", "bob@there")
        assert one.day_usd == Money.parse("4.80"), "priced by what its provider offers now"
        assert refusal(delete, running, theirs.id) == "ForeignState"
        assert refusal(delete, running, theirs.id, "third-state") == "ForeignState"
        assert delete(running, theirs.id, "other-state").is_gone
        assert [one.id for one in running.machines()] == [machine.id]

    def test_a_deletion_waits_for_the_provider_s_word_is_journalled_and_frees_the_home(self, running: World) -> None:
        machine = running.machines()[0]
        forget(running, even_if_running=True)
        assert running.home().holder is not None, "the machine may still write to it"
        running.pass_time(20 * MINUTE)
        assert delete(running, machine.id).is_gone
        assert running.machines() == ()
        assert running.home().holder is None
        assert "OrphanDeleted" in [event.code for event in running.events(Remarked)]

    def test_an_orphaned_disk_is_priced_by_the_day_and_deleted_with_what_it_holds(self, running: World) -> None:
        running.stop()
        running.delete(LAB)
        disk = running.home().disk_id
        forget(running, HOME)
        running.pass_time(20 * MINUTE)
        (one,) = orphans(running).of(Group.OURS)
        assert (one.id, one.kind, one.day_usd) == (disk, "disk", Money.parse("0.003288"))
        assert delete(running, disk).is_gone
        assert orphans(running).orphans == ()

    def test_without_a_terminal_and_without_yes_nothing_is_deleted(self, cli: CommandLine) -> None:
        cli("apply", "--yes")
        assert cli("orphans", "--delete", "i-000001").code is ExitCode.USAGE
        assert cli("orphans", "--delete", "i-000001", "--yes").code is ExitCode.ERROR, "it has a record"

    def test_after_a_lost_state_everything_is_another_state_s(self, running: World, tmp_path: Path) -> None:
        running.close()
        (running.folder / ".nodus" / "state.db").unlink()
        again = running.again()
        report = orphans(again)
        assert {one.group for one in report.orphans} == {Group.FOREIGN}
        assert {one.kind for one in report.orphans} == {"machine", "disk"}


class TestAdopt:
    def test_a_forgotten_machine_becomes_the_session_again_and_every_second_is_charged_once(self, running: World) -> None:
        machine, began = running.machines()[0], running.attempt().timings.billing_started_at
        running.pass_time(10 * MINUTE)
        forget(running, even_if_running=True)
        running.pass_time(20 * MINUTE)
        running.write(HOME_YAML, workspace_yaml(idleTimeout="0s", state="Stopped"))
        running.apply()
        adopt(running, machine.id)
        assert running.status().phase is Phase.RUNNING
        assert [one.id for one in running.machines()] == [machine.id]
        assert kinds(running) == []
        assert orphans(running).orphans == ()
        running.pass_time(10 * MINUTE)
        running.stop()
        ended = running.attempt().timings.finished_at
        assert began is not None and ended is not None
        rate = Money.parse("0.20").micro
        assert abs(running.charged().micro - rate * int((ended - began).total_seconds()) // 3600) <= 1
        assert running.home().revision == 1, "its home is saved like any other"
        running.check_quiet()

    def test_the_edge_of_an_adopted_machine_is_renewed_like_any_other(self, running: World) -> None:
        machine = running.machines()[0]
        forget(running, even_if_running=True)
        running.pass_time(timedelta(hours=5))
        running.write(HOME_YAML, workspace_yaml(idleTimeout="0s", state="Stopped"))
        running.apply()
        adopt(running, machine.id)
        running.tick()
        edge = running.attempt().edge_at
        assert edge is not None and edge - running.clock.now() > timedelta(hours=7)

    def test_a_disk_becomes_the_disk_of_a_volume_that_has_none_with_its_revisions(self, running: World) -> None:
        running.stop()
        disk = running.home().disk_id
        running.delete(LAB)
        forget(running, HOME)
        running.pass_time(20 * MINUTE)
        running.write(HOME_YAML)
        running.apply()
        assert running.home().disk_id == ""
        adopt(running, disk)
        assert (running.home().disk_id, running.home().revision) == (disk, 1)
        running.write(HOME_YAML, workspace_yaml(idleTimeout="0s"))
        running.apply()
        assert running.machines()[0].disk_ids == (disk,)
        assert kinds(running) == []

    def test_another_state_s_disk_is_adopted_only_where_its_state_is_named(self, running: World) -> None:
        running.close()
        (running.folder / ".nodus" / "state.db").unlink()
        again = running.again()
        again.write(HOME_YAML.replace("name: home", "name: mine"))
        again.apply()
        (machine,) = again.machines()
        old = machine.tags["nodus-state"]
        mine = Address("volume", "mine")
        assert refusal(adopt, again, machine.disk_ids[0], wanted=mine) == "ForeignState"
        assert refusal(adopt, again, machine.disk_ids[0], wanted=mine, state_id=old) == "VolumeBusy", "it is attached"
        delete(again, machine.id, old)
        adopt(again, machine.disk_ids[0], wanted=mine, state_id=old)
        assert again.home(mine).disk_id == machine.disk_ids[0]
        assert [one.kind for one in orphans(again).orphans] == []

    def test_what_no_record_fits_says_what_to_write(self, running: World) -> None:
        machine = running.machines()[0]
        forget(running, even_if_running=True)
        running.pass_time(20 * MINUTE)
        with pytest.raises(UserError) as problem:
            adopt(running, machine.id)
        assert problem.value.diagnostics[0].code == "NotFound"
        assert "--as workspace/NAME" in problem.value.diagnostics[0].fix

    def test_a_machine_whose_keys_are_gone_is_refused_with_the_reason(self, running: World) -> None:
        machine = running.machines()[0]
        running.stop()
        stray = launch_another(running, machine, "nodus-stray")
        running.pass_time(20 * MINUTE)
        with pytest.raises(UserError) as problem:
            adopt(running, stray.id)
        assert "keys of its Attempt lab-1 are gone" in problem.value.diagnostics[0].detail


class TestForget:
    def test_the_record_goes_the_machine_stays_and_the_books_are_closed_estimated(self, running: World) -> None:
        machine = running.machines()[0]
        creates, deletes = running.count("create"), running.count("delete")
        plan = forget(running, even_if_running=True)
        assert [(one.kind, one.id, one.day_usd) for one in plan.left] == [("machine", machine.id, Money.parse("4.80"))]
        assert running.state.journal.snapshot().get(LAB) is None
        assert (running.count("create"), running.count("delete")) == (creates, deletes)
        assert [one.id for one in running.machines()] == [machine.id]
        assert running.attempt().end_is_estimated
        assert running.held() == Money(0)
        running.check_quiet()
        assert "Forgotten" in [event.code for event in running.events(Remarked)]

    def test_a_running_session_is_refused_without_the_flag(self, running: World) -> None:
        assert refusal(forget, running) == "Conflict"
        assert running.status().phase is Phase.RUNNING

    def test_a_volume_that_is_named_or_held_is_refused(self, running: World) -> None:
        assert refusal(forget, running, HOME) == "VolumeBusy"

    def test_an_open_step_is_given_up_and_what_it_made_is_an_orphan(self, world: World) -> None:
        world.write(HOME_YAML, workspace_yaml())
        world.fault("create", "accept-then-drop")
        world.fault("find", "error Unavailable")
        world.apply()
        forget(world)
        world.pass_time(20 * MINUTE)
        assert [one.kind for one in orphans(world).of(Group.OURS)] == ["machine"]
        assert world.home().holder is None
        world.check_quiet()


class TestRecover:
    def declare(self, world: World, machine: str) -> Any:
        return declare_dead(LAB, machine, outside=world.outside(), command="test", settings=ApplySettings(), interrupts=Interrupts())

    def test_the_owner_s_word_releases_the_machine_and_recovers_the_session(self, running: World) -> None:
        first = running.machines()[0].id
        running.fault("agent", "unreachable")
        running.pass_time(10 * MINUTE)
        running.tick()
        assert running.status().phase is Phase.RUNNING, "a failing ssh proves no death"
        running.heal()
        result = self.declare(running, first)
        assert result.exit_code is ExitCode.DONE
        assert running.status().phase is Phase.RUNNING
        (now,) = running.machines()
        assert now.id != first
        assert running.attempt().replaces
        assert "DeclaredDead" in [event.code for event in running.events(Remarked)]
        running.check_quiet()

    def test_another_machine_than_the_current_one_is_refused_by_its_name(self, running: World) -> None:
        with pytest.raises(UserError) as problem:
            self.declare(running, "i-999999")
        assert running.machines()[0].id in problem.value.diagnostics[0].detail
        assert running.status().phase is Phase.RUNNING

    def test_a_stopped_workspace_has_nothing_that_could_be_dead(self, running: World) -> None:
        machine = running.machines()[0].id
        running.stop()
        assert refusal(self.declare, running, machine) == "Conflict"


class TestCommands:
    """The commands as a person or a script meets them."""

    def test_forget_orphans_adopt_and_delete_show_their_plan_and_say_what_became_of_it(self, cli: CommandLine) -> None:
        cli.write("ws.yaml", LAB_YAML.replace("idleTimeout: 1h", "idleTimeout: 0s"))
        cli("apply", "--yes")
        assert cli("forget", "lab", "--yes").code is ExitCode.ERROR
        forgotten = cli("forget", "lab", "--yes", "--even-if-running")
        assert forgotten.code is ExitCode.DONE
        assert "orphan: machine i-000001 at sim, $4.80 a day, ends itself" in forgotten.out
        cli("sim", "advance", "20m")
        listed = cli("orphans", "--json")
        result = next(line for line in map(json.loads, listed.out.splitlines()) if line["type"] == "result")
        assert [(one["id"], one["usdPerDay"]) for one in result["groups"]["ours"]] == [("i-000001", "4.80")]
        cli.write("ws.yaml", LAB_YAML.replace("idleTimeout: 1h", "idleTimeout: 0s\n  state: Stopped"))
        assert cli("apply", "--yes").code is ExitCode.DONE
        assert cli("adopt", "i-000001", stdin="n\n", on_terminal=True).code is ExitCode.ERROR
        assert "Stopped" in cli("get", "ws").out
        adopted = cli("adopt", "i-000001", "--yes")
        assert "<= workspace/lab  machine i-000001 at sim" in adopted.out
        assert adopted.code is ExitCode.DONE
        assert "ok workspace/lab  Running" in adopted.out
        assert cli("receipts", "--verify").code is ExitCode.DONE
        assert cli("drift").code is ExitCode.DONE

    def test_recover_names_the_machine_or_does_nothing(self, cli: CommandLine) -> None:
        cli("apply", "--yes")
        wrong = cli("recover", "lab", "--machine-is-dead", "i-000009")
        assert wrong.code is ExitCode.ERROR
        assert "nodusctl recover workspace/lab --machine-is-dead i-000001" in wrong.err
        assert cli("recover", "lab", "--machine-is-dead", "i-000001").code is ExitCode.DONE
        assert cli("sim", "machines", "-o", "name").out == "i-000002\n"

    def test_an_orphan_is_ended_only_after_a_yes(self, cli: CommandLine) -> None:
        cli("apply", "--yes")
        cli("forget", "lab", "--yes", "--even-if-running")
        cli("sim", "advance", "20m")
        assert cli("orphans", "--delete", "i-000001", stdin="n\n", on_terminal=True).code is ExitCode.ERROR
        assert cli("sim", "calls", "--op", "delete", "--count").out == "0\n"
        ended = cli("orphans", "--delete", "i-000001", "--yes")
        assert ended.code is ExitCode.DONE
        assert "machine i-000001 is gone, confirmed by sim." in ended.out
