"""What providers hold and no record knows: grouped, priced, and ended only where its state is named."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from support.commands import CommandLine
from support.outside_changes import MINUTE, delete, forget, launch_another, orphans, refusal
from support.world import HOME, HOME_YAML, LAB, World, workspace_yaml

from nodusctl.attempts.events import Remarked
from nodusctl.base.exits import ExitCode
from nodusctl.base.money import Money
from nodusctl.engine.orphans import Group


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

    def test_an_orphan_is_ended_only_after_a_yes(self, cli: CommandLine) -> None:
        cli("apply", "--yes")
        cli("forget", "lab", "--yes", "--even-if-running")
        cli("sim", "advance", "20m")
        assert cli("orphans", "--delete", "i-000001", stdin="n\n", on_terminal=True).code is ExitCode.ERROR
        assert cli("sim", "calls", "--op", "delete", "--count").out == "0\n"
        ended = cli("orphans", "--delete", "i-000001", "--yes")
        assert ended.code is ExitCode.DONE
        assert "machine i-000001 is gone, confirmed by sim." in ended.out
