"""Every refusal of apply and of the verbs: its message, its exit code, no call, and nothing left held."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from support.world import HOME_YAML, LAB, START, World, workspace_yaml

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.base.exits import ExitCode, UserError
from nodusctl.base.ids import Address
from nodusctl.engine import verbs
from nodusctl.engine.applying import ApplyResult, ApplySettings, exit_code_of, notes_of
from nodusctl.engine.locking import lock_note
from nodusctl.executor.runs import Interrupts, ObjectOutcome
from nodusctl.state.status import Phase
from nodusctl.store.holders import this_holder
from nodusctl.store.opening import open_state


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "project").write(HOME_YAML, workspace_yaml())


def refusal(act: object, code: ExitCode) -> Diagnostic:
    """The one diagnostic of a refusal with this exit code."""
    with pytest.raises(UserError) as refused:
        act()  # type: ignore[operator]
    assert refused.value.exit_code is code
    (fault,) = refused.value.diagnostics
    return fault


def calls(world: World) -> int:
    """Calls that make or end something."""
    return sum(world.count(operation) for operation in ("create", "volume-create", "delete", "save"))


def test_case_1_a_plan_made_on_no_state_is_applied_once(world: World) -> None:
    plan = world.plan()
    assert world.apply(plan, is_saved_plan=True).exit_code is ExitCode.DONE
    before, state = calls(world), world.state.path.read_bytes()
    fault = refusal(lambda: world.apply(plan, is_saved_plan=True), ExitCode.REFUSED)
    assert fault.summary == "This plan was already applied."
    assert "nodusctl apply by ada@test" in fault.detail
    assert calls(world) == before
    assert world.state.path.read_bytes() == state, "the state is unchanged byte for byte"
    world.check_quiet()


def test_a_plan_started_but_not_finished_is_used_up_too(world: World) -> None:
    plan = world.plan()
    world.fault("create", "error CapacityUnavailable")
    world.apply(plan, is_saved_plan=True, timeout=timedelta(seconds=1))
    assert refusal(lambda: world.apply(plan, is_saved_plan=True), ExitCode.REFUSED).summary == "This plan was already applied."


def test_a_plan_of_an_older_serial_is_refused_with_what_moved_it(world: World) -> None:
    world.apply()
    world.write(HOME_YAML, workspace_yaml(idleTimeout="2h"))
    plan = world.plan()
    world.write(HOME_YAML, workspace_yaml(idleTimeout="3h"))
    world.apply()
    fault = refusal(lambda: world.apply(plan, is_saved_plan=True), ExitCode.REFUSED)
    assert fault.summary == "The state moved since this plan was made."
    assert "moved by: nodusctl apply by ada@test" in fault.detail
    world.check_quiet()


def test_a_plan_of_another_state_is_refused(world: World, tmp_path: Path) -> None:
    other = World(tmp_path / "other").write(HOME_YAML, workspace_yaml())
    other.apply()
    other.write(HOME_YAML, workspace_yaml(idleTimeout="2h"))
    plan = other.plan()
    world.apply()
    assert refusal(lambda: world.apply(plan, is_saved_plan=True), ExitCode.REFUSED).summary == "This plan belongs to another state."


def test_a_plan_whose_facts_moved_is_refused_and_names_the_object_and_the_fact(world: World) -> None:
    world.apply()
    world.write(HOME_YAML, workspace_yaml())
    plan = world.plan(restarts=(LAB,))
    world.cloud.kill(world.machines()[0].id)
    world.pass_time(timedelta(hours=9))
    _settle_as_stopped(world)
    fault = refusal(lambda: world.apply(plan, is_saved_plan=True), ExitCode.REFUSED)
    assert fault.summary == "Something this plan relies on changed."
    assert "workspace/lab" in fault.detail and "phase" in fault.detail
    world.check_quiet()


def _settle_as_stopped(world: World) -> None:
    """What an observing pass does: the dead machine's session is closed, and no desired thing changes."""
    from nodusctl.engine.applying import resume

    resume(world.outside(), (LAB,), ApplySettings(), Interrupts())
    assert world.status().phase is Phase.STOPPED


def test_a_price_above_the_ceiling_is_refused_before_anything_is_made(world: World) -> None:
    plan = world.plan()
    world.fault("price", "price 0.90")
    fault = refusal(lambda: world.apply(plan, is_saved_plan=True), ExitCode.PRICE)
    assert "0.20" in fault.detail and "0.90" in fault.detail and "+350.0 %" in fault.detail
    assert calls(world) == 0
    assert not world.state.journal.exists()


def test_a_blocked_plan_makes_nothing_and_says_every_reason(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml(resources={"cpu": 4000}), workspace_yaml("b", volume="", ephemeral=True, resources={"cpu": 5000}))
    result = world.apply()
    assert result.exit_code is ExitCode.BLOCKED
    assert {one.address for one in result.diagnostics} == {"workspace/lab", "workspace/b"}
    assert calls(world) == 0
    assert not world.state.journal.exists()


def test_skipping_what_is_blocked_does_the_rest_and_is_partial(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml(), workspace_yaml("b", volume="", ephemeral=True, resources={"cpu": 5000}))
    result = world.apply(world.plan(skips_blocked=True), skip_blocked=True)
    assert result.exit_code is ExitCode.PARTIAL
    assert [reason.address for reason in result.skipped] == [Address("workspace", "b")]
    assert world.status().phase is Phase.RUNNING
    assert world.state.journal.snapshot().get(Address("workspace", "b")) is None


class TestLocked:
    """Case 6: somebody else holds the plan lock."""

    @pytest.fixture
    def locked(self, world: World) -> World:
        world.apply()
        other = open_state(
            "sqlite:///.nodus/state.db",
            root=world.folder,
            key=_key(),
            wall=world.wall,
            holder_command="nodusctl apply",
            holder=this_holder("nodusctl apply"),
        )
        other.claims.take_plan_lock("nodusctl apply", timedelta(0))
        return world

    def test_the_message_has_all_facts_and_the_exact_command(self, locked: World) -> None:
        lock = locked.state.claims.plan_lock()
        assert lock is not None
        fault = refusal(locked.stop, ExitCode.LOCKED)
        holder = lock.holder
        for fact in (lock.id, holder.user, holder.host, str(holder.pid), "nodusctl apply", "started:", "last heartbeat:", "alive"):
            assert fact in fault.detail
        assert f"nodusctl unlock {lock.id}" in fault.fix
        assert locked.status().phase is Phase.RUNNING

    def test_a_reader_is_told_its_age(self, locked: World) -> None:
        lock = locked.state.claims.plan_lock()
        assert lock is not None
        assert "2m ago" in lock_note(lock, lock.started_at + timedelta(minutes=2)).detail

    def test_a_lock_is_waited_for_as_long_as_one_asks(self, locked: World) -> None:
        begun = locked.wall.monotonic()
        refusal(lambda: locked.stop(lock_timeout=timedelta(seconds=0.3)), ExitCode.LOCKED)
        assert locked.wall.monotonic() - begun >= 0.3

    def test_once_unlocked_the_command_goes_through(self, locked: World) -> None:
        lock = locked.state.claims.plan_lock()
        assert lock is not None
        assert not locked.state.claims.unlock("another id")
        assert locked.state.claims.unlock(lock.id)
        assert locked.stop().exit_code is ExitCode.DONE


def _key() -> object:
    from support.world import KEY

    return KEY


class TestVerbs:
    """start and stop of what can't be started or stopped."""

    def test_a_workspace_nobody_knows(self, world: World) -> None:
        assert refusal(lambda: world.start(Address("workspace", "nobody")), ExitCode.ERROR).code == "NotFound"

    def test_a_volume(self, world: World) -> None:
        world.apply()
        assert "Only a Workspace" in refusal(lambda: world.stop(Address("volume", "home")), ExitCode.USAGE).summary

    def test_a_stop_changes_the_live_spec_and_not_what_the_file_wrote(self, world: World) -> None:
        world.apply()
        world.stop()
        record = world.standing().record
        assert record.spec["state"] == "Stopped"
        assert record.applied is not None and "state" not in record.applied
        assert not world.plan().has_changes

    def test_a_stop_with_a_schedule_asks_once_and_leaves_the_state_running(self, world: World) -> None:
        world.write(HOME_YAML, workspace_yaml(schedule={"stopAt": "2026-03-02T18:00:00Z"}))
        world.apply()
        assert world.stop().exit_code is ExitCode.DONE
        assert world.standing().record.spec["state"] == "Running"
        assert (world.status().phase, world.status().stop_reason) == (Phase.STOPPED, "Owner")
        assert world.apply().exit_code is ExitCode.DONE
        assert world.status().phase is Phase.STOPPED, "the request was acted on; nothing starts by itself"

    def test_two_starts_at_one_moment_are_two_requests(self, world: World) -> None:
        world.fault("create", "error Invalid")
        world.apply()
        world.start()
        first = world.standing().record.annotations["nodus.dev/start-requested-at"]
        world.start()
        assert world.standing().record.annotations["nodus.dev/start-requested-at"] != first
        assert world.clock.now() < START + timedelta(minutes=1)

    def test_a_verb_writes_no_status(self, world: World) -> None:
        """What another process learns of the machine meanwhile must not be overwritten."""
        world.apply()
        before = world.status()
        verbs.write(LAB, lambda record, _: replace(record, annotations={"nodus.dev/note": "x"}), world.outside(), "nodusctl stop")
        assert world.status() == before


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([], ExitCode.DONE),
        (["ok"], ExitCode.DONE),
        (["ok", "failed"], ExitCode.PARTIAL),
        (["failed"], ExitCode.ERROR),
        (["failed", "open"], ExitCode.PARTIAL),
        (["unfinished"], ExitCode.PARTIAL),
        (["volume", "failed"], ExitCode.ERROR),
    ],
)
def test_one_exit_code_says_how_it_went(outcomes: list[str], code: ExitCode) -> None:
    made = {
        "ok": ObjectOutcome(address=LAB, phase="Running", is_ok=True),
        "volume": ObjectOutcome(address=Address("volume", "home"), phase="Ready", is_ok=True),
        "failed": ObjectOutcome(address=LAB, phase="Failed", is_ok=False, code="CapacityUnavailable", message="sold out"),
        "open": ObjectOutcome(address=LAB, phase="Pending", is_ok=False, code="IntentUnsettled", has_open_intent=True),
        "unfinished": ObjectOutcome(address=LAB, phase="Starting", is_ok=False, code="Unfinished"),
    }
    assert exit_code_of(tuple(made[name] for name in outcomes), (), Interrupts()) is code


def test_an_interrupt_has_its_own_code() -> None:
    interrupts = Interrupts()
    interrupts.interrupt()
    assert exit_code_of((), (), interrupts) is ExitCode.INTERRUPTED


def test_each_object_that_is_not_where_it_should_be_is_told_of() -> None:
    failed = ObjectOutcome(address=LAB, phase="Failed", is_ok=False, code="StartTimeout", message="the start took too long")
    (told,) = notes_of(ApplyResult(exit_code=ExitCode.ERROR, outcomes=(failed,)))
    assert (told.code, told.address, told.detail) == ("StartTimeout", "workspace/lab", "the start took too long")
