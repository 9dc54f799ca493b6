"""Machines and disks of the world: billing times, edges, endings, and homes that are never lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from nodusctl.base.exits import UserError
from nodusctl.base.money import Money
from nodusctl.provider.machines import DiskState, MachineState, ReleaseState, RevisionState
from nodusctl.provider.replies import Refused
from nodusctl.provider.requests import GrowRequest, ReleaseRequest
from nodusctl.testing.provider_conformance import done

SELF_STOPS = [
    pytest.param("{selfStop: ends-billing}", MachineState.STOPPED, True, id="ends-billing"),
    pytest.param("{selfStop: keeps-billing, endsAt: terminated}", MachineState.STOPPED, False, id="keeps-billing"),
    pytest.param("{selfStop: ends-machine}", MachineState.TERMINATED, True, id="ends-machine"),
]


def test_billing_runs_from_acceptance_to_the_confirmed_end(sim) -> None:
    machine = sim.running()
    sim.sleep(15)
    request = ReleaseRequest(token=sim.token(), machine_id=machine.id)
    assert done(sim.provider.release(request)).state is ReleaseState.RELEASING
    assert sim.seen(machine.id).state is MachineState.RUNNING
    sim.sleep(10)
    release = done(sim.provider.release(request))
    assert release.state is ReleaseState.GONE
    assert release.ended_at - machine.billing_started_at == timedelta(seconds=45 + 15 + 10)


@pytest.mark.parametrize(("billing", "state", "is_billing_over"), SELF_STOPS)
def test_what_the_edge_does_depends_on_self_stop(make_sim: Callable, billing: str, state: MachineState, is_billing_over: bool) -> None:
    sim = make_sim(f"billing: {billing}\n")
    machine = sim.launch(edge_seconds=600)
    sim.sleep(3600)
    seen = sim.seen(machine.id)
    assert seen.state is state
    assert (seen.ended_at is not None) == is_billing_over
    sim.release(machine.id)
    ended_at = sim.seen(machine.id).ended_at
    lasted = ended_at - machine.billing_started_at
    assert lasted == timedelta(seconds=600) if is_billing_over else lasted == timedelta(seconds=3600 + 10)


def test_a_killed_machine_is_terminated_with_the_time_of_its_death(sim) -> None:
    machine = sim.running()
    sim.sleep(100)
    sim.provider.kill(machine.id)
    seen = sim.seen(machine.id)
    assert (seen.state, seen.reason) == (MachineState.TERMINATED, "killed")
    assert seen.ended_at == sim.clock.now()
    assert sim.provider.simulated_machines("", include_ended=False) == ()
    assert [ended.id for ended in sim.provider.simulated_machines("workspace/*", include_ended=True)] == [machine.id]
    with pytest.raises(UserError):
        sim.provider.kill(machine.id)


def test_a_token_of_an_ended_machine_makes_no_other(sim) -> None:
    request = sim.launch_request()
    machine = done(sim.provider.launch(request))
    sim.provider.kill(machine.id)
    reply = sim.provider.launch(request)
    assert isinstance(reply, Refused)
    assert reply.code == "IdempotencyKeyReused"


@pytest.mark.parametrize("change", [{"image": "x"}, {"boot": "x"}, {"edge_seconds": 60}, {"zone": "us-1b"}, {"tags": {"nodus-state": "x"}}])
def test_a_token_stands_for_every_byte_of_its_request(sim, change: dict[str, object]) -> None:
    request = sim.launch_request()
    done(sim.provider.launch(request))
    reply = sim.provider.launch(replace(request, **change))
    assert isinstance(reply, Refused)
    assert reply.code == "IdempotencyKeyReused"


def test_without_idempotency_a_token_makes_two_and_find_shows_the_older(make_sim: Callable) -> None:
    sim = make_sim("manners: {createIsIdempotent: false}\n")
    assert sim.provider.describe().list_lag_bound == timedelta(minutes=10)
    request = sim.launch_request()
    first, second = done(sim.provider.launch(request)), done(sim.provider.launch(request))
    assert first.id != second.id
    assert done(sim.provider.find(request.token)).id == first.id
    sim.release(first.id)
    assert done(sim.provider.find(request.token)).id == second.id


def test_a_release_is_found_by_its_own_token(sim) -> None:
    machine = sim.running()
    request = ReleaseRequest(token=sim.token(), machine_id=machine.id)
    sim.provider.release(request)
    assert done(sim.provider.find(request.token)).reason == "Releasing"
    sim.sleep(10)
    found = done(sim.provider.find(request.token))
    assert (found.id, found.state) == (machine.id, MachineState.GONE)
    assert found.ended_at == sim.clock.now()


def test_a_maximum_rate_below_the_interruptible_rate_finds_no_capacity(sim) -> None:
    spot = {"offer_id": "h100-sxm-80g-x1-us", "instance_type": "sim.h100x1", "is_interruptible": True}
    reply = sim.provider.launch(sim.launch_request(**spot, max_rate_usd_per_hour=Money.parse("1.75")))
    assert isinstance(reply, Refused)
    assert reply.code == "CapacityUnavailable"
    assert sim.launch(**spot, max_rate_usd_per_hour=Money.parse("1.76")).is_interruptible


def test_a_boot_document_above_the_limit_is_refused(make_sim: Callable) -> None:
    sim = make_sim("manners: {bootLimit: 16Ki}\n")
    assert sim.provider.describe().boot_limit_bytes == 16384
    assert isinstance(sim.provider.launch(sim.launch_request(boot="x" * 16385)), Refused)
    sim.launch(boot="x" * 16384)


def test_sizes_are_rounded_up_to_the_granularity(sim) -> None:
    disk = sim.disk(size_bytes=100_000_000)
    assert disk.size_bytes == 100_000_768
    grown = done(sim.provider.grow(GrowRequest(token=sim.token(), disk_id=disk.id, size_bytes=100_000_000)))
    assert grown.size_bytes == 100_000_768


def test_every_session_leaves_its_mark_and_none_is_lost(sim) -> None:
    disk = sim.disk()
    marks = []
    for number in range(3):
        machine = sim.running(f"workspace/lab-{number}")
        done(sim.attach(machine, disk))
        marks.append(f"{machine.id}/1")
        sim.release(machine.id)
    assert sim.provider.disk_content(disk.id) == tuple(marks)


def test_a_disk_attached_during_the_boot_is_marked_by_it(sim) -> None:
    disk, machine = sim.disk(), sim.launch()
    done(sim.attach(machine, disk))
    assert sim.provider.disk_content(disk.id) == ()
    sim.sleep(45)
    assert sim.provider.disk_content(disk.id) == (f"{machine.id}/1",)


def test_a_platform_may_refuse_to_attach_while_booting(make_sim: Callable) -> None:
    sim = make_sim("manners: {attachesWhileBooting: false}\n")
    disk, machine = sim.disk(), sim.launch()
    sim.sleep(15)
    reply = sim.attach(machine, disk)
    assert isinstance(reply, Refused)
    assert (reply.code, reply.retry_after) == ("Unavailable", timedelta(seconds=30))
    sim.sleep(30)
    assert done(sim.attach(machine, disk)).attached_to == machine.id


def test_a_disk_of_another_zone_is_not_attached(sim) -> None:
    disk, machine = sim.disk(zone="us-1b"), sim.running()
    reply = sim.attach(machine, disk)
    assert isinstance(reply, Refused)
    assert "us-1b" in reply.message


def test_a_machine_that_stopped_itself_still_holds_its_disk(sim) -> None:
    disk, machine = sim.disk(), sim.running(edge_seconds=600)
    done(sim.attach(machine, disk))
    sim.sleep(600)
    assert sim.seen(machine.id).state is MachineState.STOPPED
    second = sim.running("workspace/second")
    reply = sim.attach(second, disk)
    assert isinstance(reply, Refused)
    assert reply.code == "VolumeBusy"
    sim.release(machine.id)
    assert done(sim.attach(second, disk)).attached_to == second.id


def test_where_disks_end_with_their_machine_only_revisions_remain(make_sim: Callable) -> None:
    sim = make_sim("manners: {diskOutlivesMachine: false}\n")
    disk, machine = sim.disk(), sim.running()
    done(sim.attach(machine, disk))
    sim.provider.kill(machine.id)
    assert sim.provider.disk_content(disk.id) == ()
    assert done(sim.provider.observe_disks([disk.id]))[0].state is DiskState.READY


def test_a_busy_disk_is_saved_only_when_it_is_quiet(sim) -> None:
    disk, machine = sim.disk(), sim.running()
    done(sim.attach(machine, disk))
    request = sim.save_request(disk)
    reply = sim.provider.save(request)
    assert isinstance(reply, Refused)
    assert reply.code == "VolumeBusy"
    done(sim.ask(machine, "quiesce"))
    assert done(sim.provider.save(request)).state is RevisionState.SAVING


def test_a_save_goes_on_without_anyone_asking_and_holds_the_content_of_its_beginning(sim) -> None:
    disk = sim.disk()
    request = sim.save_request(disk)
    begun = sim.clock.now()
    done(sim.provider.save(request))
    machine = sim.running()
    done(sim.attach(machine, disk))
    revision = done(sim.provider.observe_disks([disk.id]))[0].revisions[0]
    assert revision.state is RevisionState.READY
    assert revision.committed_at == begun + timedelta(seconds=20)
    sim.release(machine.id)
    after = sim.save_request(disk, number=2)
    sim.provider.save(after)
    sim.sleep(20)
    assert done(sim.provider.save(after)).digest != revision.digest


def test_a_revision_number_is_used_once(sim) -> None:
    disk = sim.disk()
    sim.provider.save(sim.save_request(disk, number=1))
    reply = sim.provider.save(sim.save_request(disk, number=1))
    assert isinstance(reply, Refused)
    assert reply.code == "AlreadyExists"


def test_a_world_that_takes_no_time_answers_at_once(make_sim: Callable) -> None:
    sim = make_sim("times: {bootP50: 0s, bootP90: 0s, save: 0s, release: 0s}\n")
    machine, disk = sim.launch(), sim.disk()
    assert machine.state is MachineState.RUNNING
    assert done(sim.provider.save(sim.save_request(disk))).state is RevisionState.READY
    release = done(sim.provider.release(ReleaseRequest(token=sim.token(), machine_id=machine.id)))
    assert release.state is ReleaseState.GONE
