"""Scripted faults, each with what it does to the world and what it does to the reply."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from nodusctl.base.exits import UserError
from nodusctl.provider.machines import DiskState, Machine, MachineState, ReleaseState, RevisionState
from nodusctl.provider.offers import OfferQuery
from nodusctl.provider.replies import Done, Refused, Scope, Unknown
from nodusctl.provider.requests import ReleaseRequest, RestoreRequest
from nodusctl.testing.clocks import FakeWall
from nodusctl.testing.provider_conformance import done

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def test_error_refuses_and_makes_nothing(sim) -> None:
    sim.fault("create", "error TooManyRequests retry-after 30s message slow down")
    reply = sim.provider.launch(sim.launch_request())
    assert reply == Refused("TooManyRequests", Scope.ACCOUNT, "slow down", timedelta(seconds=30))
    assert sim.provider.simulated_machines("", include_ended=True) == ()
    assert sim.provider.calls("create")[0].outcome == "refused TooManyRequests"


def test_an_error_can_echo_what_it_was_sent(sim) -> None:
    sim.fault("create", "error Invalid message can't read {request}", times=1)
    reply = sim.provider.launch(sim.launch_request(boot="the boot document"))
    assert reply == Refused("Invalid", Scope.REQUEST, "can't read the boot document")


@pytest.mark.parametrize("way", ["cleared", "used up"])
def test_the_words_of_a_fault_leave_no_trace_when_it_is_over(sim, way: str) -> None:
    sim.fault("create", "error Invalid message canary-77ab", times=1)
    if way == "used up":
        assert sim.provider.launch(sim.launch_request()).message == "canary-77ab"
        sim.provider.close()
    else:
        sim.provider.clear_faults()
    files = [path for path in sim.folder.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if b"canary-77ab" in path.read_bytes()]


def test_a_token_in_the_words_of_a_fault_is_not_kept(sim) -> None:
    rule = sim.provider.add_fault("create", "", None, None, "error Invalid message denied for hf_TESTSECRET123")
    assert rule.effect == "error Invalid message denied for [redacted]"


def test_accept_then_drop_makes_the_machine_and_says_nothing(sim) -> None:
    sim.fault("create", "accept-then-drop", times=1)
    request = sim.launch_request()
    assert isinstance(sim.provider.launch(request), Unknown)
    found = done(sim.provider.find(request.token))
    assert isinstance(found, Machine)
    assert done(sim.provider.launch(request)).id == found.id
    assert sim.count("create") == 2
    assert sim.provider.calls("create")[0].outcome == "unknown"


def test_hang_waits_on_the_wall_after_the_world_accepted(sim) -> None:
    sim.fault("create", "hang 60s")
    sim.launch()
    assert sim.wall.slept == (60.0,)
    assert sim.elapsed() == 0


class LookingWall(FakeWall):
    """A wall that looks at something each time it is slept on."""

    def __init__(self) -> None:
        super().__init__(START)
        self.look: Callable[[], object] = lambda: None
        self.seen: list[object] = []

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.seen.append(self.look())


def test_hang_before_waits_before_the_world_hears_of_it(make_sim: Callable) -> None:
    wall = LookingWall()
    sim = make_sim(wall=wall)
    wall.look = lambda: (sim.count("create"), sim.provider.simulated_machines("", True))
    sim.fault("create", "hang-before 5s", times=1)
    sim.launch()
    assert (wall.slept, wall.seen) == ((5.0,), [(0, ())])
    assert sim.count("create") == 1
    assert sim.provider.faults() == ()


def test_visible_after_hides_from_get_list_and_find(sim) -> None:
    sim.fault("create", "visible-after 45s")
    request = sim.launch_request()
    machine = done(sim.provider.launch(request))
    assert sim.seen(machine.id).state is MachineState.GONE
    assert done(sim.provider.list()).machines == ()
    assert done(sim.provider.find(request.token)) is None
    sim.sleep(45)
    assert sim.seen(machine.id).state is MachineState.RUNNING
    assert done(sim.provider.find(request.token)).id == machine.id


def test_two_faults_can_strike_one_call(sim) -> None:
    sim.fault("create", "accept-then-drop")
    sim.fault("create", "visible-after 45s")
    request = sim.launch_request()
    assert isinstance(sim.provider.launch(request), Unknown)
    assert done(sim.provider.find(request.token)) is None
    sim.sleep(45)
    assert done(sim.provider.find(request.token)) is not None


def test_lie_reports_another_state_and_changes_none(sim) -> None:
    machine = sim.running()
    sim.fault("get", "lie stopped", times=1)
    assert sim.seen(machine.id).state is MachineState.STOPPED
    assert sim.seen(machine.id).state is MachineState.RUNNING


def test_a_release_that_lies_leaves_the_machine_burning(sim) -> None:
    machine = sim.running()
    sim.fault("delete", "lie gone", times=1)
    release = done(sim.provider.release(ReleaseRequest(token=sim.token(), machine_id=machine.id)))
    assert release.state is ReleaseState.GONE
    sim.sleep(3600)
    assert sim.seen(machine.id).state is MachineState.RUNNING


def test_gone_denies_what_exists(sim) -> None:
    request = sim.launch_request()
    machine = done(sim.provider.launch(request))
    for operation in ("get", "list", "find", "delete"):
        sim.fault(operation, "gone", times=1)
    assert sim.seen(machine.id).state is MachineState.GONE
    assert done(sim.provider.list()).machines == ()
    assert done(sim.provider.find(request.token)) is None
    reply = sim.provider.release(ReleaseRequest(token=sim.token(), machine_id=machine.id))
    assert isinstance(reply, Refused)
    assert reply.code == "NotFound"
    assert sim.seen(machine.id).state is MachineState.PENDING


def test_forbidden_is_unreadable_where_one_thing_is_read_and_a_refusal_elsewhere(sim) -> None:
    machine, disk = sim.launch(), sim.disk()
    sim.fault("get", "forbidden")
    assert sim.seen(machine.id).state is MachineState.UNREADABLE
    assert done(sim.provider.observe_disks([disk.id]))[0].state is DiskState.UNREADABLE
    sim.fault("list", "forbidden")
    reply = sim.provider.list()
    assert isinstance(reply, Refused)
    assert (reply.code, reply.scope) == ("Forbidden", Scope.ACCOUNT)


def test_partial_leaves_a_half_save_that_the_same_token_finishes(sim) -> None:
    disk = sim.disk()
    sim.fault("save", "partial 40", times=1)
    request = sim.save_request(disk)
    half = done(sim.provider.save(request))
    assert (half.state, half.size_bytes) == (RevisionState.FAILED, 2**30 * 40 // 100)
    sim.sleep(3600)
    assert done(sim.provider.observe_disks([disk.id]))[0].revisions[0].state is RevisionState.FAILED
    assert done(sim.provider.save(request)).state is RevisionState.SAVING
    sim.sleep(20)
    ready = done(sim.provider.save(request))
    assert (ready.id, ready.state) == (half.id, RevisionState.READY)


def test_partial_restore_leaves_neither_content_and_can_be_repeated(sim) -> None:
    disk, machine = sim.disk(), sim.running()
    done(sim.attach(machine, disk))
    sim.release(machine.id)
    save = sim.save_request(disk)
    sim.provider.save(save)
    sim.sleep(20)
    revision = done(sim.provider.save(save))
    before = sim.provider.disk_content(disk.id)
    sim.fault("restore", "partial 50", times=1)
    request = RestoreRequest(token=sim.token(), disk_id=disk.id, revision_id=revision.id)
    assert isinstance(sim.provider.restore(request), Unknown)
    assert sim.provider.disk_content(disk.id) != before
    done(sim.provider.restore(request))
    assert sim.provider.disk_content(disk.id) == before


def test_partial_list_and_price_show_a_part(sim) -> None:
    for name in "abcd":
        sim.launch(f"workspace/{name}")
    sim.fault("list", "partial 50", times=1)
    sim.fault("price", "partial 0", times=1)
    assert len(done(sim.provider.list()).machines) == 2
    assert len(done(sim.provider.list()).machines) == 4
    assert done(sim.provider.offers(OfferQuery())) == ()


def test_price_speaks_of_the_offers_it_names(sim) -> None:
    sim.fault("price", "price 9.99", match="h100-*-us")
    rates = {
        offer.id: str(offer.quote.rate_usd_per_hour) for offer in done(sim.provider.offers(OfferQuery())) if not offer.is_interruptible
    }
    assert {offer_id for offer_id, rate in rates.items() if rate == "9.99"} == {"h100-sxm-80g-x1-us", "h100-sxm-80g-x8-us"}


def test_price_can_name_an_interruptible_offer(sim) -> None:
    sim.fault("price", "price 3.00", match="h100-sxm-80g-x1-us/spot")
    offers = [offer for offer in done(sim.provider.offers(OfferQuery())) if offer.id == "h100-sxm-80g-x1-us"]
    assert {(offer.is_interruptible, str(offer.quote.rate_usd_per_hour)) for offer in offers} == {(False, "4.40"), (True, "3.00")}


def test_quota_refuses_what_is_too_much(sim) -> None:
    sim.launch("workspace/a")
    sim.fault("create", "quota 1")
    reply = sim.provider.launch(sim.launch_request("workspace/b"))
    assert isinstance(reply, Refused)
    assert (reply.code, reply.scope) == ("QuotaExceeded", Scope.ACCOUNT)


def test_no_edge_makes_a_machine_that_never_ends_itself(sim) -> None:
    sim.fault("create", "no-edge", times=1)
    machine = sim.running(edge_seconds=60)
    assert machine.armed_until is None
    assert done(sim.ask(machine)).remaining_seconds is None
    sim.sleep(7 * 86400)
    assert sim.seen(machine.id).state is MachineState.RUNNING


def test_unreachable_on_create_is_for_good(sim) -> None:
    sim.fault("create", "unreachable", match="workspace/lab")
    machine, other = sim.running("workspace/lab"), sim.running("workspace/other")
    sim.provider.clear_faults()
    assert machine.state is MachineState.RUNNING
    assert isinstance(sim.ask(machine), Unknown)
    assert isinstance(sim.ask(other), Done)


@pytest.mark.parametrize("operation", ["agent", "get"])
def test_unreachable_on_questions_counts_questions(sim, operation: str) -> None:
    machine = sim.running()
    sim.fault(operation, "unreachable", times=2)
    assert sim.seen(machine.id).state is MachineState.RUNNING
    assert [isinstance(sim.ask(machine), Unknown) for _ in range(3)] == [True, True, False]


def test_noise_changes_what_is_meant_to_change_and_nothing_else(sim) -> None:
    machine, disk = sim.running(), sim.disk()
    sim.fault("get", "noise")
    first, second = sim.seen(machine.id), sim.seen(machine.id)
    assert first.tags["etag"] != second.tags["etag"]
    assert first.tags.items() >= machine.tags.items()
    assert [tag for tag in first.tags if tag in machine.tags] != list(machine.tags)
    noisy = done(sim.provider.observe_disks([disk.id]))[0]
    assert 0 < noisy.size_bytes - disk.size_bytes < sim.provider.describe().size_granularity_bytes


def test_nth_strikes_that_call_only(sim) -> None:
    machine = sim.launch()
    sim.fault("get", "gone", nth=2)
    assert [sim.seen(machine.id).state is MachineState.GONE for _ in range(4)] == [False, True, False, False]


def test_nth_with_times_strikes_that_many_from_there_on(sim) -> None:
    machine = sim.launch()
    sim.fault("get", "gone", nth=2, times=2)
    assert [sim.seen(machine.id).state is MachineState.GONE for _ in range(5)] == [False, True, True, False, False]


def test_without_counts_a_fault_strikes_until_cleared(sim) -> None:
    machine = sim.launch()
    sim.fault("get", "gone")
    assert all(sim.seen(machine.id).state is MachineState.GONE for _ in range(3))
    assert sim.provider.clear_faults() == 1
    assert sim.seen(machine.id).state is MachineState.PENDING


def test_match_is_an_address_or_a_glob(sim) -> None:
    a, b = sim.launch("workspace/a"), sim.launch("workspace/b")
    sim.fault("get", "lie failed", match="workspace/a")
    sim.fault("get", "lie stopped", match="workspace/*", nth=3)
    assert sim.seen(a.id).state is MachineState.FAILED
    assert sim.seen(b.id).state is MachineState.PENDING
    assert sim.seen(b.id).state is MachineState.STOPPED


def test_a_list_fault_with_a_match_strikes_only_what_it_names(sim) -> None:
    a, b = sim.launch("workspace/a"), sim.launch("workspace/b")
    sim.fault("list", "gone", match="workspace/a")
    assert [machine.id for machine in done(sim.provider.list()).machines] == [b.id]
    assert a.id != b.id


def test_a_fault_of_an_attachment_can_name_the_machine_or_the_volume(sim) -> None:
    machine, disk = sim.running("workspace/lab"), sim.disk("volume/home")
    sim.fault("attach", "error Conflict", match="workspace/lab", times=1)
    sim.fault("attach", "error Conflict", match="volume/home", times=1)
    assert [isinstance(sim.attach(machine, disk), Refused) for _ in range(2)] == [True, False]
    assert sim.count("attach", "volume/home") == sim.count("attach", "workspace/lab") == 2


@pytest.mark.parametrize(
    ("operation", "effect", "nth", "times"),
    [("make", "gone", None, None), ("get", "gon", None, None), ("get", "gone", 0, None), ("get", "gone", None, 0)],
)
def test_a_fault_that_is_not_understood_is_refused_and_not_kept(sim, operation, effect, nth, times) -> None:
    with pytest.raises(UserError):
        sim.provider.add_fault(operation, "", nth, times, effect)
    assert sim.provider.faults() == ()


def test_faults_are_listed_with_what_is_left_of_them(sim) -> None:
    machine = sim.launch()
    sim.fault("get", "gone", times=2)
    sim.seen(machine.id)
    (rule,) = sim.provider.faults()
    assert (rule.operation, rule.effect, rule.times_left) == ("get", "gone", 1)
