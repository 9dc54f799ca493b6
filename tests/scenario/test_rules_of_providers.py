"""The rules every provider keeps, R1 to R15, each shown once in a simulated world."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.world import HOME, HOME_YAML, LAB, World, context_of, outcome, workspace_yaml

from nodus_providers.simulated.provider import SimulatedProvider
from nodusctl.attempts.events import Remarked
from nodusctl.base.exits import ExitCode
from nodusctl.base.ids import Address
from nodusctl.base.money import Money
from nodusctl.cli.project import open_project
from nodusctl.engine.drifting import find_drift
from nodusctl.ledger.balances import balances
from nodusctl.plugins.plugins import ReadyProviders
from nodusctl.provider.machines import Machine
from nodusctl.provider.replies import Done
from nodusctl.provider.requests import LaunchRequest
from nodusctl.state.status import Phase

MINUTE = timedelta(minutes=1)
NOT_IDEMPOTENT = "manners: {createIsIdempotent: false}\n"
EPHEMERAL = workspace_yaml(volume="", ephemeral=True, idleTimeout="0s")


def begun(folder: Path, *, world: str = "", spec: str = "") -> World:
    """A running Workspace with its home, or another spec."""
    made = World(folder / "project", world=world)
    made.write(*((spec,) if spec else (HOME_YAML, workspace_yaml(idleTimeout="0s"))))
    assert made.apply().exit_code is ExitCode.DONE
    return made


def launched_again(world: World, machine: Machine, **tags: str) -> Machine:
    """A second machine with the same tags, as a create that was sent twice makes it."""
    request = LaunchRequest(
        token="nodus-again",
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


def test_r1_the_attempt_with_its_token_price_and_edge_is_committed_before_the_call(tmp_path: Path) -> None:
    world = World(tmp_path / "project")
    world.write(HOME_YAML, workspace_yaml())
    stored: list[Any] = []

    class Watching(SimulatedProvider):
        """The cloud, with a look at the state at the moment a launch arrives."""

        def launch(self, request: LaunchRequest) -> Any:
            (attempt,) = world.state.journal.attempts()
            stored.append((attempt.token == request.token, attempt.terms is not None, attempt.edge_at is not None))
            return super().launch(request)

    watching = ReadyProviders({"sim": Watching.open(context_of(world.folder, "sim", world.wall), {})})
    assert world.apply(outside=world.outside(providers=watching)).exit_code is ExitCode.DONE
    assert stored == [(True, True, True)]


def test_r2_an_unknown_launch_blocks_every_other_offer_until_a_look_up_settles_it(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    world.fault("create", "accept-then-drop")
    world.fault("find", "error Unavailable")
    assert outcome(world.apply()).code == "IntentUnsettled"
    assert world.count("create") == 1
    world.heal()
    assert world.again().apply().exit_code is ExitCode.DONE
    assert world.count("create") == 1


def test_r3_an_absence_counts_only_after_the_list_lag_and_twice(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    world.fault("create", "accept-then-drop", times=1)
    world.fault("create", "visible-after 100s", times=1)
    assert world.apply().exit_code is ExitCode.DONE
    assert world.count("create") == 1, "it was absent at first, and never asked for twice"
    assert len(world.machines()) == 1


class TestR3Duplicates:
    def test_the_ready_machine_is_kept_the_other_released_and_both_are_charged(self, tmp_path: Path) -> None:
        world = begun(tmp_path, world=NOT_IDEMPOTENT)
        (kept,) = world.machines()
        spare = launched_again(world, kept)
        world.pass_time(10 * MINUTE)
        result = world.tick()
        assert [one.code for one in result.moved] == ["Duplicate"]
        assert f"{spare.id} is a second one of lab-1; {kept.id} is kept, ready" in result.moved[0].message
        world.pass_time(MINUTE)
        world.tick()
        assert [one.id for one in world.machines()] == [kept.id]
        assert world.status().phase is Phase.RUNNING
        second = world.attempts()[1]
        assert (second.reason, second.timings.finished_at is not None) == ("Duplicate", True)
        assert balances(world.entries()).attempt(second.uid).charged > Money(0)
        assert "Duplicate" in [event.code for event in world.events(Remarked)]
        world.stop()
        world.check_quiet()

    def test_an_unconfirmed_release_of_the_spare_is_asked_for_by_every_pass(self, tmp_path: Path) -> None:
        world = begun(tmp_path, world=NOT_IDEMPOTENT)
        spare = launched_again(world, world.machines()[0])
        world.fault("delete", "error Unavailable message later", times=2)
        world.pass_time(10 * MINUTE)
        world.tick(times=4, every=MINUTE)
        assert spare.id not in [one.id for one in world.machines()]
        world.check_books()

    def test_a_stop_is_not_over_before_the_spare_is_gone_too(self, tmp_path: Path) -> None:
        world = begun(tmp_path, world=NOT_IDEMPOTENT)
        spare = launched_again(world, world.machines()[0])
        world.pass_time(10 * MINUTE)
        world.fault("delete", "error Unavailable message later", times=1)
        world.tick()
        assert outcome(world.stop()).code == "IntentUnsettled"
        assert world.status().phase is Phase.STOPPING
        world.tick(times=3, every=MINUTE)
        assert world.status().phase is Phase.STOPPED
        assert world.machines() == ()
        assert spare.id in {one.machine.id for one in world.attempts() if one.machine is not None}
        world.check_quiet()

    def test_while_nothing_has_begun_the_older_machine_is_kept(self, tmp_path: Path) -> None:
        world = World(tmp_path / "project", world=NOT_IDEMPOTENT)
        world.write(EPHEMERAL)
        world.fault("create", "unreachable", "workspace/lab")
        world.apply(timeout=MINUTE)
        assert world.status().phase is Phase.STARTING
        (older,) = world.machines()
        launched_again(world, older)
        world.pass_time(MINUTE)
        world.tick()
        world.pass_time(MINUTE)
        world.tick()
        assert [one.id for one in world.machines()] == [older.id]


def test_r4_a_machine_counts_until_its_provider_says_released(tmp_path: Path) -> None:
    world = begun(tmp_path)
    world.fault("delete", "error Unavailable")
    world.stop()
    assert world.status().phase is Phase.STOPPING
    assert world.held() > Money(0)
    assert world.plan().due[0].address == LAB
    world.heal()
    world.again().apply()
    assert world.status().phase is Phase.STOPPED


def test_r5_not_found_on_delete_is_success_for_an_id_this_account_has_shown_us(tmp_path: Path) -> None:
    world = begun(tmp_path)
    world.fault("delete", "gone")
    assert world.stop().exit_code is ExitCode.DONE
    assert world.status().phase is Phase.STOPPED


def test_r6_failover_never_touches_a_disk_that_holds_data(tmp_path: Path) -> None:
    world = begun(tmp_path)
    world.stop()
    disk, zone = world.home().disk_id, world.home().zone
    world.fault("create", "error CapacityUnavailable")
    world.start(timeout=30 * MINUTE)
    assert world.count("volume-delete") == 0
    assert (world.home().disk_id, world.home().zone) == (disk, zone)


def test_r7_a_home_with_a_place_is_started_only_there(tmp_path: Path) -> None:
    world = begun(tmp_path)
    world.stop()
    world.start()
    assert {one.terms.location for one in world.attempts() if one.terms} == {world.home().location}


class TestR8ProviderInUse:
    def test_a_provider_that_holds_live_objects_can_t_be_taken_out(self, tmp_path: Path) -> None:
        world = begun(tmp_path)
        (world.folder / "nodusctl.yaml").write_text("project: default\nproviders:\n  other: {type: simulated, world: other.yaml}\n")
        world.project = open_project(world.folder).file
        world.instances = {"other": world.cloud}
        (reason,) = [one for one in world.plan().reasons if one.code == "ProviderInUse"]
        assert "workspace/lab (machine i-000001)" in reason.message
        assert "volume/home (disk d-000001)" in reason.message
        assert "nodusctl forget workspace/lab" in reason.fix

    def test_its_identity_can_t_be_changed_either(self, tmp_path: Path) -> None:
        world = at_another_account(begun(tmp_path))
        (reason,) = [one for one in world.plan().reasons if one.code == "ProviderInUse"]
        assert "Provider sim was the account simulated and is stranger now" in reason.message

    def test_once_nothing_lives_there_it_may_go(self, tmp_path: Path) -> None:
        world = begun(tmp_path)
        world.delete()
        world.delete(HOME)
        assert [one.code for one in at_another_account(world).plan().reasons] == []


def test_r9_every_machine_and_disk_carries_whose_it_is_and_its_name_the_uid(tmp_path: Path) -> None:
    world = begun(tmp_path)
    held = world.providers.get("sim").calls.list().value
    names = {"nodus-state", "nodus-project", "nodus-uid", "nodus-address", "nodus-attempt", "nodus-owner"}
    assert [set(one.tags) >= names for one in (*held.machines, *held.disks)] == [True, True]
    assert held.machines[0].name.endswith(world.attempt().uid[:8])
    assert held.disks[0].name.endswith(world.standing(HOME).record.uid[:8])


def test_r10_the_armed_edge_ends_the_machine_when_nobody_renews(tmp_path: Path) -> None:
    world = begun(tmp_path)
    edge = world.attempt().edge_at
    world.pass_time(timedelta(hours=24))
    world.tick(times=2, every=MINUTE)
    assert world.status().stop_reason == "LeaseEnded"
    assert world.attempt().timings.finished_at == edge


def test_r11_cost_runs_from_billing_start_to_its_end_and_a_kept_disk_has_a_line_of_its_own(tmp_path: Path) -> None:
    world = begun(tmp_path)
    world.pass_time(timedelta(hours=1))
    world.stop()
    times = world.attempt().timings
    assert times.finished_at is not None and times.billing_started_at is not None
    assert abs(world.charged().micro - 200_000 * int((times.finished_at - times.billing_started_at).total_seconds()) // 3600) <= 1
    world.write(HOME_YAML.replace("1Gi", "2Gi"), workspace_yaml(idleTimeout="0s"))
    assert [line.p50_usd for line in world.plan().costs if line.address == HOME] == [Money.parse("0.20")]


def at_another_account(world: World) -> World:
    """The same project, whose provider's credentials lead to a stranger's account."""
    world.close()
    (world.folder / "world.yaml").write_text("account: stranger\n")
    return world.again()


class TestR12AnotherAccount:
    def test_no_observation_counts_and_nothing_is_made_or_deleted(self, tmp_path: Path) -> None:
        world = at_another_account(begun(tmp_path))
        before = {op: world.count(op) for op in ("create", "delete", "volume-create", "volume-delete", "get", "list")}
        world.pass_time(30 * MINUTE)
        result = world.tick(times=3)
        assert world.status().phase is Phase.RUNNING
        assert result.exit_code is ExitCode.ERROR
        assert all(why.startswith("ProviderIdentityChanged") for why in (result.failures or {}).values())
        assert {op: world.count(op) for op in before} == before

    def test_a_stop_waits_and_is_never_reported_stopped(self, tmp_path: Path) -> None:
        world = at_another_account(begun(tmp_path))
        assert outcome(world.stop()).code == "ProviderIdentityChanged"
        assert world.status().phase is Phase.STOPPING

    def test_nothing_starts_there_on_terms_that_were_approved_elsewhere(self, tmp_path: Path) -> None:
        world = begun(tmp_path, spec=EPHEMERAL)
        world.stop()
        world = at_another_account(world)
        assert outcome(world.start()).code == "ProviderIdentityChanged"
        assert world.count("create") == 1

    def test_drift_names_the_instance_and_calls_nothing_gone(self, tmp_path: Path) -> None:
        world = at_another_account(begun(tmp_path))
        report = find_drift(journal=world.state.journal, passes=world.state.passes, providers=world.providers, now=world.clock.now())
        assert report.differences == ()
        assert report.exit_code is ExitCode.ERROR
        assert report.failures["sim"].startswith("ProviderIdentityChanged")

    def test_with_the_former_account_back_everything_goes_on(self, tmp_path: Path) -> None:
        world = at_another_account(begun(tmp_path))
        world.tick()
        world.close()
        (world.folder / "world.yaml").unlink()
        world = world.again()
        assert world.tick().exit_code is ExitCode.DONE
        assert world.stop().exit_code is ExitCode.DONE
        world.check_quiet()


def test_r13_a_platform_that_asks_for_patience_gets_it(world: World) -> None:
    world.write(HOME_YAML, workspace_yaml())
    world.fault("create", "error TooManyRequests retry-after 5m", times=1)
    before = world.clock.now()
    assert world.apply().exit_code is ExitCode.DONE
    acquired_at = world.attempt().timings.acquired_at
    assert acquired_at is not None and acquired_at - before >= 5 * MINUTE


@pytest.mark.parametrize(("operation", "rest"), [("delete", "Stopped"), ("save", "Stopped"), ("detach", "Stopped")])
def test_r13_patience_is_kept_for_every_step_and_not_only_for_starts(world: World, operation: str, rest: str) -> None:
    world.write(HOME_YAML, workspace_yaml())
    world.apply()
    world.fault(operation, "error TooManyRequests retry-after 90s", times=2)
    assert world.stop().exit_code is ExitCode.DONE
    assert world.status().phase == rest
    asked = [call.time for call in world.cloud.calls(operation)][:3]
    assert [after - before >= timedelta(seconds=90) for before, after in pairwise(asked)] == [True, True]
    world.check_quiet()


def test_r14_a_start_that_moves_on_deletes_only_the_empty_disk_it_made_itself(world: World) -> None:
    world.write(HOME_YAML, HOME_YAML.replace("name: home", "name: other"), workspace_yaml(), workspace_yaml("two", volume="other"))
    world.fault("create", "error CapacityUnavailable", "workspace/two", times=1)
    assert world.apply().exit_code is ExitCode.DONE
    assert [one.address for one in world.cloud.calls("volume-delete")] == ["volume/other"]
    assert world.home().disk_id and world.home(Address("volume", "other")).disk_id


class TestR15ForeignState:
    def test_list_returns_everything_tagged_whatever_the_state(self, tmp_path: Path) -> None:
        world = begun(tmp_path)
        launched_again(world, world.machines()[0], **{"nodus-state": "another"})
        held = world.providers.get("sim").calls.list().value
        assert len({one.tags["nodus-state"] for one in held.machines}) == 2

    def test_an_object_of_this_project_and_name_held_by_another_state_blocks_its_plan(self, tmp_path: Path) -> None:
        world = begun(tmp_path)
        world.close()
        (world.folder / ".nodus" / "state.db").unlink()
        plan = world.again().plan()
        found = {str(one.address): one for one in plan.reasons if one.code == "ForeignState"}
        assert list(found) == ["volume/home", "workspace/lab"]
        assert "machine i-000001 at sim" in found["workspace/lab"].message
        assert plan.exit_code(is_detailed=False) is ExitCode.BLOCKED

    def test_another_project_s_object_of_this_name_blocks_nothing(self, tmp_path: Path) -> None:
        world = begun(tmp_path, spec=EPHEMERAL)
        (machine,) = world.machines()
        launched_again(world, machine, **{"nodus-state": "another", "nodus-project": "elsewhere"})
        world.write(workspace_yaml(volume="", ephemeral=True, idleTimeout="2h"))
        assert [one.code for one in world.plan().reasons] == []


class TestMassVanishing:
    @pytest.fixture
    def four(self, tmp_path: Path) -> World:
        """Four running Workspaces past the list lag."""
        world = World(tmp_path / "project")
        world.write(*(workspace_yaml(name, volume="", ephemeral=True, idleTimeout="0s") for name in "abcd"))
        assert world.apply(parallelism=4).exit_code is ExitCode.DONE
        world.pass_time(10 * MINUTE)
        return world

    def test_of_many_that_vanish_at_once_none_is_gone(self, four: World) -> None:
        four.fault("get", "gone")
        four.tick(times=3)
        assert {four.status(Address("workspace", name)).phase for name in "abcd"} == {Phase.RUNNING}
        four.heal()
        four.tick()
        assert len(four.machines()) == 4

    def test_one_that_vanishes_alone_is_believed_after_the_second_look(self, four: World) -> None:
        four.fault("get", "gone", "workspace/a")
        four.fault("delete", "gone", "workspace/a")
        four.tick(times=3)
        assert four.status(Address("workspace", "a")).phase is Phase.STOPPED
        assert four.status(Address("workspace", "b")).phase is Phase.RUNNING
