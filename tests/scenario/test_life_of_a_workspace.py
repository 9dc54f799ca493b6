"""A Workspace from its YAML to its removal, by the table of lifecycle.md, on one simulated cloud."""

from __future__ import annotations

from datetime import timedelta

from support.world import HOME, HOME_YAML, LAB, START, World, outcome, workspace_yaml

from nodusctl.attempts.attempt import AttemptPhase
from nodusctl.attempts.events import PhaseChanged, WentQuiet
from nodusctl.base.exits import ExitCode
from nodusctl.base.money import Money
from nodusctl.state.status import Phase


def phases(world: World) -> list[str]:
    """Every phase the Workspace came to, in order."""
    uid = world.standing(LAB).record.uid
    return [event.after for event in world.events(PhaseChanged) if event.object_uid == uid]  # type: ignore[attr-defined]


def running(world: World, **spec: object) -> World:
    """The world with a Workspace that runs."""
    world.write(HOME_YAML, workspace_yaml(**spec))
    assert world.apply().exit_code is ExitCode.DONE
    return world


def test_an_applied_workspace_runs_with_a_session_a_home_and_a_hold(world: World) -> None:
    running(world)
    status, attempt = world.status(), world.attempt()
    assert status.phase is Phase.RUNNING
    assert status.stop_reason == ""
    assert status.host_key == attempt.host_key != ""
    assert attempt.phase is AttemptPhase.RUNNING
    assert attempt.timings.ready_at == START + timedelta(seconds=45)
    assert world.home().holder is not None
    assert world.home().holder.epoch == 1  # type: ignore[union-attr]
    assert world.condition("Ready") == "True"
    assert world.held() == Money.parse("1.603333")  # 8 h lease and the stop bound of 60 s at 0.20/h
    assert world.count("create") == 1
    assert phases(world) == ["Starting", "Running"]
    world.check_quiet()


def test_after_an_apply_there_is_nothing_left_to_plan(world: World) -> None:
    running(world)
    assert not world.plan().has_changes
    calls = world.count("create") + world.count("volume-create")
    assert world.apply().exit_code is ExitCode.DONE
    assert world.count("create") + world.count("volume-create") == calls


def test_a_stop_saves_the_home_charges_exactly_and_leaves_no_machine(world: World) -> None:
    running(world)
    world.pass_time(timedelta(hours=1))
    assert world.stop().exit_code is ExitCode.DONE
    status, attempt = world.status(), world.attempt()
    assert (status.phase, status.stop_reason) == (Phase.STOPPED, "Owner")
    assert attempt.phase is AttemptPhase.SUCCEEDED
    assert attempt.timings.finished_at is not None and attempt.timings.finished_at > START + timedelta(hours=1)
    assert not attempt.end_is_estimated
    assert (world.home().revision, world.home().holder, world.home().is_newer_than_revision) == (1, None, False)
    assert world.condition("StateSaved") == "True"
    assert world.condition("Stopped") == "True"
    assert world.condition("Ready") == "False"
    assert status.last_session is not None
    assert status.last_session.charge_usd == world.charged()
    assert world.held() == Money(0)
    assert world.machines() == ()
    world.check_quiet()


def test_the_compute_is_released_before_the_home_is_saved(world: World) -> None:
    running(world)
    world.stop()
    operations = [call.operation for call in world.cloud.calls() if call.operation in {"agent", "delete", "detach", "save"}]
    first = {name: operations.index(name) for name in ("delete", "detach", "save")}
    assert first["delete"] < first["detach"] < first["save"]
    assert len([event for event in world.events(WentQuiet) if event.is_quiet]) == 1  # type: ignore[attr-defined]


def test_started_again_the_home_is_back_under_the_next_epoch_and_the_same_host_key(world: World) -> None:
    running(world)
    host_key, disk_id = world.status().host_key, world.home().disk_id
    world.stop()
    assert world.again().start().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.RUNNING
    assert world.status().host_key == host_key
    assert [one.epoch for one in world.attempts()] == [1, 2]
    assert world.home().disk_id == disk_id
    assert len(world.cloud.disk_content(disk_id)) == 2, "both sessions wrote to one disk"
    assert world.home().holder is not None and world.home().holder.epoch == 2
    world.check_quiet()


def test_a_delete_saves_first_and_keeps_the_volume(world: World) -> None:
    running(world)
    result = world.delete(LAB)
    assert outcome(result).is_removed
    assert world.home().revision == 1
    assert world.machines() == ()
    assert world.count("volume-delete") == 0
    world.check_quiet()


def test_a_delete_that_discards_the_home_saves_nothing(world: World) -> None:
    running(world)
    assert world.delete(LAB, discards_home=True).exit_code is ExitCode.DONE
    assert world.count("save") == 0
    assert world.home().is_newer_than_revision
    assert world.machines() == ()
    world.check_quiet()


def test_a_named_volume_goes_with_its_data_after_the_workspace(world: World) -> None:
    running(world)
    assert world.delete(LAB, HOME).exit_code is ExitCode.DONE
    assert list(world.state.journal.snapshot()) == []
    assert world.count("volume-delete") == 1
    world.check_quiet()


def test_a_machine_removed_by_hand_can_be_deleted(world: World) -> None:
    """Case 28: not found on delete is success, and the disk and its books are settled."""
    running(world)
    world.fault("delete", "gone", "workspace/lab")
    world.fault("get", "gone", "workspace/lab")
    result = world.delete(LAB)
    assert outcome(result).is_removed
    assert world.attempt().end_is_estimated
    world.check_quiet()


def test_a_disk_removed_by_hand_can_be_deleted(world: World) -> None:
    running(world)
    world.stop()
    world.fault("volume-delete", "gone")
    assert world.delete(LAB, HOME).exit_code is ExitCode.DONE
    assert list(world.state.journal.snapshot()) == []
    world.check_quiet()


def test_a_workspace_admitted_stopped_allocates_nothing(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml(state="Stopped"))
    assert world.apply().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.STOPPED
    assert world.attempts() == ()
    assert world.entries() == ()
    assert world.count("create") + world.count("volume-create") == 0
    world.check_quiet()


def test_a_workspace_admitted_stopped_starts_when_asked(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml(state="Stopped"))
    world.apply()
    assert world.start().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.RUNNING


def test_a_restart_gives_another_machine_with_the_same_home(world: World) -> None:
    running(world)
    plan = world.plan(restarts=(LAB,))
    assert world.apply(plan).exit_code is ExitCode.DONE
    assert world.status().phase is Phase.RUNNING
    assert [one.phase for one in world.attempts()] == [AttemptPhase.SUCCEEDED, AttemptPhase.RUNNING]
    assert world.home().revision == 1
    assert len(world.machines()) == 1
    assert phases(world) == ["Starting", "Running", "Stopping", "Pending", "Starting", "Running"]
    assert world.apply().exit_code is ExitCode.DONE
    assert len(world.attempts()) == 2, "a handled restart is not done again"
    world.check_quiet()


def test_a_stop_during_a_start_leaves_nothing_and_charges_what_ran(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    assert world.apply(timeout=timedelta(seconds=10)).exit_code is ExitCode.PARTIAL
    assert world.status().phase is Phase.STARTING
    assert world.again().stop().exit_code is ExitCode.DONE
    assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "Owner")
    assert world.machines() == ()
    assert world.charged() == Money.parse("0.003333"), "the minimum of 60 s"
    world.check_quiet()


def test_a_start_asked_for_during_a_stop_runs_after_the_release_is_confirmed(world: World) -> None:
    running(world)
    assert world.stop(timeout=timedelta(seconds=3)).exit_code is ExitCode.PARTIAL
    assert world.status().phase is Phase.STOPPING
    assert world.again().start().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.RUNNING
    assert [one.phase for one in world.attempts()] == [AttemptPhase.SUCCEEDED, AttemptPhase.RUNNING]
    assert world.home().revision == 1
    assert len(world.machines()) == 1
    world.check_quiet()


def test_a_stop_before_anything_was_allocated_costs_nothing(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    world.fault("create", "error CapacityUnavailable")
    world.apply(timeout=timedelta(seconds=5))
    assert world.status().phase is Phase.PENDING
    assert world.stop().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.STOPPED
    assert world.charged() == world.held() == Money(0)
    assert world.attempt().phase is AttemptPhase.CANCELLED
    world.check_quiet()


def test_secrets_of_an_attempt_are_forgotten_when_it_is_over(world: World) -> None:
    running(world)
    running_attempt = world.attempt().uid
    assert world.state.journal.secret(f"service-key/{running_attempt}")
    world.stop()
    for name in (f"service-key/{running_attempt}", f"boot/{running_attempt}/1"):
        assert world.state.journal.secret(name) is None
    assert world.state.journal.secret(f"host-key/{world.standing(LAB).record.uid}"), "the durable key stays with the Workspace"
    uid = world.standing(LAB).record.uid
    world.delete(LAB)
    assert world.state.journal.secret(f"host-key/{uid}") is None


def test_secrets_of_a_start_that_never_got_a_machine_are_forgotten(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    world.fault("create", "error Invalid")
    world.apply()
    assert world.status().phase is Phase.FAILED
    refused = world.attempt()
    assert world.state.journal.secret(f"service-key/{refused.uid}") is None
    assert world.state.journal.secret(f"boot/{refused.uid}/{refused.try_number}") is None


def test_an_ephemeral_workspace_has_no_home_and_saves_nothing(world: World) -> None:
    world.write(workspace_yaml(volume="", ephemeral=True))
    assert world.apply().exit_code is ExitCode.DONE
    assert world.stop().exit_code is ExitCode.DONE
    assert world.count("volume-create") + world.count("save") + world.count("attach") == 0
    assert world.status().phase is Phase.STOPPED
    world.check_quiet()


def test_a_volume_grows_in_place_while_its_workspace_runs(world: World) -> None:
    running(world)
    world.write(HOME_YAML.replace("1Gi", "2Gi"), workspace_yaml())
    assert world.apply().exit_code is ExitCode.DONE
    assert world.home().size_bytes == 2 * 2**30
    assert not world.plan().has_changes
    world.check_quiet()


def test_idle_timeout_changes_without_touching_the_machine(world: World) -> None:
    running(world)
    world.write(HOME_YAML, workspace_yaml(idleTimeout="2h"))
    assert world.apply().exit_code is ExitCode.DONE
    assert world.status().observed_generation == world.standing(LAB).record.generation == 2
    assert world.count("create") == 1
    assert len(world.machines()) == 1
