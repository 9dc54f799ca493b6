"""The paragraphs of lifecycle.md that no file of their own is about: proof of death, stop, the armed edge, tick. Windows have their own."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import pytest
from support.world import HOME, HOME_YAML, LAB, START, World, workspace_yaml

from nodusctl.attempts.events import EdgeArmed, HomeSaved, Interrupted, Recovered
from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.base.money import ZERO, Money
from nodusctl.ledger.entries import EntryKind
from nodusctl.lifecycle.situation import Rules
from nodusctl.provider.machines import MachineState
from nodusctl.state.status import Phase

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def running(world: World, **spec: object) -> World:
    """``lab`` runs with a home."""
    world.write(HOME_YAML, workspace_yaml(idleTimeout="0s", **spec))
    assert world.apply().exit_code is ExitCode.DONE
    return world


class TestProofOfDeath:
    """A Volume's holder changes only after proof; a failing SSH alone only sets NodeUnreachable."""

    def test_a_killed_machine_is_replaced_and_its_home_comes_back(self, world: World) -> None:
        running(world)
        disk_id, killed = world.home().disk_id, world.machines()[0].id
        world.cloud.kill(killed)
        world.pass_time(MINUTE)
        world.tick()
        assert world.status().phase is Phase.RECOVERING
        world.pass_time(MINUTE)
        world.tick()
        assert world.status().phase is Phase.RUNNING
        assert [one.epoch for one in world.attempts()] == [1, 2]
        assert world.home().disk_id == disk_id and len(world.cloud.disk_content(disk_id)) == 2
        lost, found = world.attempts()
        assert lost.interruption is not None and lost.interruption.trigger == "killed"
        assert (lost.superseded_by, found.is_replacement) == (found.uid, True)
        assert len(world.events(Interrupted)) == len(world.events(Recovered)) == 1
        assert lost.timings.finished_at is not None and found.timings.billing_started_at is not None
        assert lost.timings.finished_at <= found.timings.billing_started_at, "never two billing at once"
        world.check_quiet()

    def test_an_unreachable_machine_that_lives_is_only_said_to_be_unreachable(self, world: World) -> None:
        running(world)
        world.fault("get", "unreachable", "workspace/lab")
        world.pass_time(MINUTE)
        world.tick(times=3)
        assert (world.status().phase, world.condition("NodeUnreachable")) == (Phase.RUNNING, "True")
        assert len(world.attempts()) == len(world.machines()) == 1
        world.heal()
        world.pass_time(MINUTE)
        world.tick()
        assert world.condition("NodeUnreachable") == "False"

    def test_one_absence_in_one_pass_proves_nothing(self, world: World) -> None:
        running(world)
        world.pass_time(HOUR)
        world.fault("get", "gone", "workspace/lab", times=1)
        world.tick()
        assert world.status().phase is Phase.RUNNING
        world.pass_time(MINUTE)
        world.tick()
        assert world.status().phase is Phase.RUNNING and len(world.machines()) == 1

    def test_a_machine_that_may_not_be_read_is_not_gone(self, world: World) -> None:
        running(world)
        world.fault("get", "forbidden", "workspace/lab")
        world.pass_time(MINUTE)
        world.tick(times=5)
        assert world.status().phase is Phase.RUNNING and len(world.attempts()) == 1

    def test_a_fourth_loss_in_one_session_ends_it(self, world: World) -> None:
        running(world)
        for number in range(4):
            world.cloud.kill(world.machines()[0].id)
            world.pass_time(MINUTE)
            world.tick(times=3, every=MINUTE)
            expected = Phase.RUNNING if number < 3 else Phase.STOPPED
            assert world.status().phase is expected, number
        assert (world.status().stop_reason, len(world.attempts())) == ("Interrupted", 4)

    def test_a_loss_noticed_after_more_than_half_an_hour_ends_the_session(self, world: World) -> None:
        running(world)
        world.cloud.kill(world.machines()[0].id)
        world.pass_time(31 * MINUTE)
        world.tick(times=3, every=MINUTE)
        assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "Interrupted")
        assert world.home().revision == 1, "what the disk holds is saved"
        world.check_quiet()

    def test_an_ephemeral_workspace_that_is_lost_stops(self, world: World) -> None:
        world.write(workspace_yaml(volume="", ephemeral=True, idleTimeout="0s"))
        world.apply()
        world.cloud.kill(world.machines()[0].id)
        world.pass_time(MINUTE)
        world.tick(times=2)
        assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "Interrupted")

    def test_a_recovery_that_finds_no_place_waits_in_recovering(self, world: World) -> None:
        running(world)
        world.cloud.kill(world.machines()[0].id)
        world.fault("create", "error CapacityUnavailable scope zone", times=1)
        world.pass_time(MINUTE)
        world.tick()
        assert world.status().phase is Phase.RECOVERING
        world.tick(times=6, every=MINUTE)
        assert world.status().phase is Phase.RUNNING
        world.check_books()


class TestStop:
    """Close the door, quiesce, then by capability; Stopped is never reported before the release is confirmed."""

    def test_a_stop_by_tick_goes_on_from_pass_to_pass(self, world: World) -> None:
        running(world, schedule={"stopAt": "2026-03-02T10:00:00Z"})
        world.pass_time(HOUR)
        seen = []
        for _ in range(6):
            world.tick()
            seen.append(world.status().phase)
            world.pass_time(MINUTE)
        assert seen[0] is Phase.STOPPING and seen[-1] is Phase.STOPPED
        assert (world.status().stop_reason, world.home().revision, world.machines()) == ("Schedule", 1, ())
        world.check_quiet()

    def test_a_failed_release_is_retried_and_never_reported_stopped(self, world: World) -> None:
        running(world)
        world.fault("delete", "error Unavailable message it hangs there")
        stopped = world.stop()
        assert stopped.exit_code is not ExitCode.DONE
        world.tick(times=4)
        assert world.status().phase is Phase.STOPPING
        burning = world.plan().burning
        assert [(one.address, one.rate_usd_per_hour) for one in burning] == [(LAB, Money.parse("0.20"))]
        world.heal()
        world.tick(times=4)
        assert world.status().phase is Phase.STOPPED and world.plan().burning == ()
        world.check_quiet()

    def test_a_delete_during_a_save_waits_for_it_and_saves_once(self, world: World) -> None:
        running(world)
        world.tick()
        world.write(HOME_YAML, workspace_yaml(idleTimeout="0s", schedule={"stopAt": "2026-03-02T09:30:00Z"}))
        world.apply()
        world.pass_time(HOUR)
        world.tick()
        while not world.count("save"):
            world.pass_time(timedelta(seconds=5))
            world.tick()
        world.apply(world.removal(LAB))
        assert world.state.journal.snapshot().get(LAB) is None
        assert [event.revision.number for event in world.events(HomeSaved)] == [1]  # type: ignore[attr-defined]
        assert world.home(HOME).holder is None
        world.check_quiet()

    def test_a_start_during_a_stop_goes_on_from_the_kept_disk(self, world: World) -> None:
        running(world, schedule={"stopAt": "2026-03-02T10:00:00Z"})
        disk_id = world.home().disk_id
        world.pass_time(HOUR)
        world.tick()
        assert world.status().phase is Phase.STOPPING
        assert world.start().exit_code is ExitCode.DONE
        assert (world.status().phase, world.home().disk_id) == (Phase.RUNNING, disk_id)
        assert len(world.cloud.disk_content(disk_id)) == 2
        world.check_quiet()

    def test_two_objects_that_save_at_once_disturb_nobody(self, world: World) -> None:
        second = HOME_YAML.replace("name: home", "name: other")
        stop_at = {"stopAt": "2026-03-02T10:00:00Z"}
        world.write(HOME_YAML, second, workspace_yaml(schedule=stop_at), workspace_yaml("two", volume="other", schedule=stop_at))
        world.apply()
        world.pass_time(HOUR)
        world.tick(times=6, every=MINUTE)
        for name in ("home", "other"):
            assert world.home(Address("volume", name)).revision == 1
        world.check_quiet()


class TestTheArmedEdge:
    """min(stopAt, money edge, launch + leaseTerm), renewed in its second half, and what happened is read afterwards."""

    def test_nobody_renews_and_the_machine_ends_itself(self, world: World) -> None:
        running(world)
        world.pass_time(20 * HOUR)
        assert [one.state for one in world.machines()] == [MachineState.STOPPED]
        world.tick(times=4)
        assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "LeaseEnded")
        attempt = world.attempt()
        assert attempt.timings.finished_at is not None
        lasted = attempt.timings.finished_at - START
        assert timedelta(hours=7, minutes=59) <= lasted <= timedelta(hours=8), "a dead laptop burns nothing beyond the lease"
        world.check_quiet()

    def test_a_tick_renews_the_lease_in_its_second_half_and_posts_the_hold_first(self, world: World) -> None:
        running(world)
        world.tick(times=5, every=HOUR)
        armed = [event.until for event in world.events(EdgeArmed)]  # type: ignore[attr-defined]
        assert armed[-1] > START + 12 * HOUR
        kinds = [entry.kind for entry in world.entries()]
        assert kinds == [EntryKind.HOLD, EntryKind.CAPTURE, EntryKind.RENEW]
        journal = world.state.journal
        assert world.held() + world.charged() >= Money.parse("0.20") * 12, "the hold reaches to the new edge"
        assert journal.open_intents() == ()
        world.stop()
        world.check_quiet()

    def test_a_renewal_whose_answer_is_lost_is_told_again(self, world: World) -> None:
        running(world)
        world.pass_time(5 * HOUR)
        world.fault("agent", "unreachable", "workspace/lab", times=2)
        world.tick()
        assert world.condition("NodeUnreachable") == "True"
        assert len(world.state.journal.open_intents()) == 1
        world.heal()
        world.pass_time(MINUTE)
        world.tick()
        assert world.condition("NodeUnreachable") == "False"
        assert world.attempt().edge_at is not None and world.attempt().edge_at > START + 12 * HOUR  # type: ignore[operator]
        assert world.state.journal.open_intents() == ()

    def test_a_shorter_stop_at_is_told_first_and_the_hold_goes_back_afterwards(self, world: World) -> None:
        running(world)
        held = world.held()
        world.write(HOME_YAML, workspace_yaml(idleTimeout="0s", schedule={"stopAt": "2026-03-02T10:00:00Z"}))
        world.apply()
        assert world.attempt().edge_bound == "schedule"
        assert world.held() < held
        world.pass_time(2 * HOUR)
        world.tick(times=4)
        assert world.status().stop_reason == "Schedule"
        world.check_quiet()

    def test_a_raised_cap_moves_the_edge_at_the_next_pass(self, world: World) -> None:
        running(world, maxCostUSD="0.10")
        world.write(HOME_YAML, workspace_yaml(idleTimeout="0s", maxCostUSD="0.50"))
        world.apply()
        world.pass_time(HOUR)
        world.tick()
        assert world.status().phase is Phase.RUNNING
        world.pass_time(3 * HOUR)
        world.tick(times=4)
        assert world.status().stop_reason == "MaxCostReached"
        assert Money.parse("0.45") < world.charged() <= Money.parse("0.50")
        world.check_quiet()

    def test_a_month_that_ends_is_captured_in_its_own_month(self, tmp_path: Path) -> None:
        from datetime import UTC, datetime

        world = running(World(tmp_path / "p", now=datetime(2026, 1, 31, 22, 0, tzinfo=UTC)))
        world.tick(times=4, every=HOUR)
        captures = [entry for entry in world.entries() if entry.kind is EntryKind.CAPTURE and entry.attempt_uid]
        assert [entry.time.month for entry in captures] == [1, 2]
        world.stop()
        by_month = {1: ZERO, 2: ZERO}
        for entry in world.entries():
            if entry.kind is EntryKind.CAPTURE:
                by_month[entry.time.month] += entry.moved(f"charged:{entry.attempt_uid}")
        assert by_month[1] == Money.parse("0.40"), "two hours of January"
        world.check_quiet()

    def test_a_month_that_ended_with_nobody_looking_is_divided_at_the_end(self, tmp_path: Path) -> None:
        from datetime import UTC, datetime

        world = running(World(tmp_path / "p", now=datetime(2026, 1, 31, 22, 0, tzinfo=UTC)))
        world.pass_time(4 * HOUR)
        world.stop()
        january = sum(
            (one.moved(f"charged:{one.attempt_uid}") for one in world.entries() if one.kind is EntryKind.CAPTURE and one.time.month == 1),
            ZERO,
        )
        assert january == Money.parse("0.40")
        world.check_quiet()


class TestTick:
    """One pass; a failure domain per provider instance; objects one by one; it waits for no boot."""

    def test_a_pass_waits_for_no_boot(self, world: World) -> None:
        world.write(HOME_YAML, workspace_yaml(state="Stopped"))
        world.apply()
        world.write(HOME_YAML, workspace_yaml())
        world.apply(timeout=timedelta(0))
        before = world.clock.now()
        world.tick()
        assert world.clock.now() - before < timedelta(seconds=1)
        assert world.status().phase is Phase.STARTING

    def test_a_pass_with_nothing_due_asks_nobody(self, world: World) -> None:
        world.write(HOME_YAML, workspace_yaml(state="Stopped"))
        world.apply()
        calls = len(world.cloud.calls("", ""))
        assert world.tick().looked_at == 0
        assert len(world.cloud.calls("", "")) == calls

    def test_a_running_machine_costs_one_question_to_its_provider_and_none_to_itself(self, world: World) -> None:
        running(world)
        asked = world.count("get")
        world.pass_time(MINUTE)
        world.tick()
        assert world.count("get") == asked + 1

    def test_a_refused_account_makes_a_bad_pass_and_ends_nothing(self, world: World) -> None:
        running(world)
        world.fault("get", "error Unauthorized scope account")
        world.pass_time(MINUTE)
        result = world.tick()
        assert result.exit_code is ExitCode.ERROR and result.failures
        assert world.status().phase is Phase.RUNNING
        world.heal()
        assert world.tick().exit_code is ExitCode.DONE
        good, bad = world.state.passes.latest()[:2]
        assert good.is_good and not bad.is_good

    def test_a_create_that_hangs_delays_no_stop(self, world: World) -> None:
        """The stop comes first; the hang is given up by its time limit and settled by the next pass."""
        running(world, schedule={"stopAt": "2026-03-02T09:30:00Z"})
        world.write(
            HOME_YAML, workspace_yaml(schedule={"stopAt": "2026-03-02T09:30:00Z"}), workspace_yaml("slow", volume="", ephemeral=True)
        )
        world.fault("create", "hang 3s", "workspace/slow")
        apply = threading.Thread(target=lambda: world.again().apply(timeout=HOUR), daemon=True)
        world.pass_time(31 * MINUTE)
        apply.start()
        other = world.again()
        other.tick()
        assert other.status().phase in {Phase.STOPPING, Phase.STOPPED}
        apply.join(30)
        other.heal()
        other.tick(times=6, every=MINUTE)
        assert other.status().phase is Phase.STOPPED
        assert len(other.attempts(Address("workspace", "slow"))) == 1

    def test_an_object_somebody_works_on_is_left_alone_and_the_pass_is_good(self, world: World) -> None:
        running(world, schedule={"stopAt": "2026-03-02T10:00:00Z"})
        world.pass_time(HOUR)
        key = world.standing(HOME).record.uid
        claim = world.state.claims.claim(key, "test", MINUTE)
        assert claim is not None
        result = world.again().tick()
        assert result.exit_code is ExitCode.DONE
        assert world.status().phase is Phase.RUNNING
        world.state.claims.drop(claim)
        world.tick()
        assert world.status().phase is Phase.STOPPING

    def test_a_pass_that_comes_when_several_stops_are_due_tells_the_first_of_the_table(self, world: World) -> None:
        running(world, maxCostUSD="0.10", schedule={"stopAt": "2026-03-02T09:28:00Z"})
        world.pass_time(3 * HOUR)
        world.tick(times=4)
        assert world.status().stop_reason == "Schedule", "the edge it really ended at"

    @pytest.mark.parametrize("lease", [2, 8])
    def test_a_session_that_cron_looks_after_outlives_its_lease(self, tmp_path: Path, lease: int) -> None:
        world = running(World(tmp_path / "p", rules=Rules(lease_term=lease * HOUR)))
        world.pass_time(MINUTE)
        world.tick(times=48, every=HOUR / 2)
        assert world.status().phase is Phase.RUNNING
        assert len(world.attempts()) == 1
        world.stop()
        world.check_quiet()
