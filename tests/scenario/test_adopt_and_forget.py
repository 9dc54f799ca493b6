"""A person's word about a machine: it is taken up, left behind, or declared dead."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from support.commands import LAB as LAB_YAML
from support.commands import CommandLine
from support.outside_changes import MINUTE, adopt, delete, forget, kinds, launch_another, orphans, refusal
from support.world import HOME, HOME_YAML, LAB, World, workspace_yaml

from nodusctl.attempts.events import Remarked
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.engine.applying import ApplySettings
from nodusctl.engine.declaring import declare_dead
from nodusctl.engine.orphans import Group
from nodusctl.executor.runs import Interrupts
from nodusctl.state.status import Phase


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

    def test_recover_names_the_machine_or_does_nothing(self, cli: CommandLine) -> None:
        cli("apply", "--yes")
        wrong = cli("recover", "lab", "--machine-is-dead", "i-000009")
        assert wrong.code is ExitCode.ERROR
        assert "nodusctl recover workspace/lab --machine-is-dead i-000001" in wrong.err
        assert cli("recover", "lab", "--machine-is-dead", "i-000001").code is ExitCode.DONE
        assert cli("sim", "machines", "-o", "name").out == "i-000002\n"
